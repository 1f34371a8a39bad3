/**
 * Waits for the ends of a batch's jobs. It asks Temporal's list of closed workflows, newest first: one cheap
 * question for all jobs, however they ended, where a signal from each would cost every job a round trip of its
 * own, and would never come from one that was terminated.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { cancellationSignal } from '@temporalio/activity';
import {
  type WorkflowExecutionDescription,
  type WorkflowExecutionInfo,
  WorkflowNotFoundError,
} from '@temporalio/client';
import type { BatchActivities, CollectEndsInput, CollectEndsOutcome } from '../../contract/batch.js';
import { parsePositions } from '../../contract/batch-positions.js';
import { AGENT_JOB_WORKFLOW, PHASE_ATTRIBUTE } from '../../contract/messages.js';
import { heartbeatWhile } from '../heartbeats.js';
import { concurrently } from './concurrently.js';
import type { BatchContext, BatchMemo } from './dependencies.js';
import { folderOf } from './pages.js';
import { readEnd } from './read-end.js';
import { type Ended, reportEnds } from './report.js';

/** Before a look: ends that come meanwhile share one report. Grows while there are none. */
const FIRST_WAIT_MS = 400;
const MAX_WAIT_MS = 5000;
/** A collection without an end returns after so long, so that no activity lasts for days. */
const SLICE_MS = 10 * 60_000;
/** The list may show an end a little later than a younger one. */
const OVERLAP_MS = 5000;
const PAGE_SIZE = 100;
const READS_AT_ONCE = 16;
/** Ends of one report; the rest comes with the next. Bounds what the report adds to the history. */
const MAX_ENDS = 500;

export function collectEndsWith(context: BatchContext): BatchActivities['collectEnds'] {
  return (input) => heartbeatWhile(collect(context, input));
}

async function collect(context: BatchContext, input: CollectEndsInput): Promise<CollectEndsOutcome> {
  const signal = cancellationSignal();
  const inFlight = new Set(parsePositions(input.inFlight));
  const awaitedToRun = parsePositions(input.awaitedToRun);
  const giveUpAt = Date.now() + SLICE_MS;
  const nextToCheck = roundRobin([...inFlight].filter((position) => position < input.next));
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 1.3, MAX_WAIT_MS)) {
    await sleep(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    const closed = await listClosed(context, input, inFlight);
    // The list is good news of most ends; one job a look is asked itself, lest one be missed for ever.
    const unlisted = closed.size === 0 ? await checkOne(context, input, nextToCheck()) : [];
    const found = [...closed, ...unlisted];
    const sawJobRunning = found.length === 0 && (await isOneRunning(context, input, awaitedToRun));
    if (found.length === 0 && !sawJobRunning && Date.now() < giveUpAt) continue;
    const ends = await readEnds(context, input, found);
    const times = found.map(([, { closeTime }]) => closeTime?.toISOString() ?? '');
    return {
      ...(await reportEnds(context.store, input.round, input.file, ends)),
      sawJobRunning,
      endsSince: [input.endsSince, ...times].sort().at(-1) as string,
    };
  }
}

/** As much of a workflow's execution as both the list and a description tell. */
type Execution = Pick<WorkflowExecutionInfo, 'workflowId' | 'runId' | 'startTime' | 'closeTime'>;
type Closed = readonly [position: number, execution: Execution];

/** Ended, ours, and not known yet. */
async function listClosed(
  { client }: BatchContext,
  { round, next, endsSince }: CollectEndsInput,
  inFlight: ReadonlySet<number>,
): Promise<Map<number, Execution>> {
  const closed = new Map<number, Execution>();
  const untilMs = Date.parse(endsSince) - OVERLAP_MS;
  const newestFirst = client.workflow.list({
    query:
      `WorkflowType = '${AGENT_JOB_WORKFLOW}' AND WorkflowId STARTS_WITH '${round.batchId}/' ` +
      "AND ExecutionStatus != 'Running' AND ExecutionStatus != 'ContinuedAsNew'",
    pageSize: PAGE_SIZE,
  });
  for await (const execution of newestFirst) {
    if ((execution.closeTime?.getTime() ?? 0) < untilMs) break;
    const batch = execution.memo?.batch as BatchMemo | undefined;
    if (batch?.folder !== folderOf(round)) continue;
    if (inFlight.has(batch.position) || batch.position >= next) closed.set(batch.position, execution);
  }
  // The oldest, so that those that are left are younger than what the next report begins with.
  return new Map([...closed].slice(-MAX_ENDS));
}

async function checkOne(
  context: BatchContext,
  { round }: CollectEndsInput,
  position: number | undefined,
): Promise<Closed[]> {
  if (position === undefined) return [];
  const execution = await describe(context, await context.pages.jobId(round, position));
  const isOver = execution !== null && execution.closeTime !== undefined;
  return isOver ? [[position, execution]] : [];
}

async function isOneRunning(
  context: BatchContext,
  { round }: CollectEndsInput,
  positions: readonly number[],
): Promise<boolean> {
  for (const position of positions) {
    const execution = await describe(context, await context.pages.jobId(round, position));
    const [phase] = execution?.searchAttributes[PHASE_ATTRIBUTE] ?? [];
    if (phase === 'running' || phase === 'paused') return true;
  }
  return false;
}

/** `null` while it is not started yet. */
async function describe(
  { client }: BatchContext,
  jobId: string,
): Promise<WorkflowExecutionDescription | null> {
  try {
    return await client.workflow.getHandle(jobId).describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

async function readEnds(
  { client, pages }: BatchContext,
  { round }: CollectEndsInput,
  found: readonly Closed[],
): Promise<Ended[]> {
  const ends: Ended[] = [];
  await concurrently(found, READS_AT_ONCE, async ([position, execution]) => {
    const { workflowId: jobId, runId, startTime, closeTime } = execution;
    const outcome = await readEnd(client, round, await pages.item(round, position), {
      jobId,
      runId,
      startedAt: startTime.toISOString(),
      endedAt: (closeTime ?? new Date()).toISOString(),
    });
    ends.push({ position, outcome });
  });
  return ends;
}

/** Each in its turn, beginning anywhere, since a collection may be over before it comes round. */
function roundRobin<T>(all: readonly T[]): () => T | undefined {
  let turn = Math.floor(Math.random() * all.length);
  return () => all[turn++ % all.length];
}
