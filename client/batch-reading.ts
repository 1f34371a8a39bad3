/** Reads a batch's status: from its workflow while it lives, and from the store once it has ended. */

import { WorkflowNotFoundError } from '@temporalio/client';
import { AGENT_BATCH_WORKFLOW, type BatchStatus } from '../contract/batch.js';
import { readDocument, statusKey } from '../contract/batch-files.js';
import { AGENT_JOB_WORKFLOW, PHASE_ATTRIBUTE, STATUS_QUERY } from '../contract/messages.js';
import type { Store } from '../store/types.js';
import { LonghaulError } from './errors.js';
import { askJob } from './job-updates.js';
import type { Temporal } from './temporal.js';

/** In the memo of a batch's workflow: what can be told of it without a worker. */
export interface BatchWorkflowMemo {
  /** Of its newest round, in the store. */
  readonly folder: string;
  readonly items: number;
  readonly round: number;
}

export interface BatchDescription {
  readonly id: string;
  readonly execution: string;
  readonly startedAt: string;
  readonly closedAt: string | null;
  readonly memo: BatchWorkflowMemo;
}

/** What the jobs in flight do, by Temporal's list, which may be a second behind. */
export interface LiveCounts {
  readonly running: number;
  readonly paused: number;
  /** Provisioning, or on their way between the others. */
  readonly starting: number;
}

export type LiveBatchStatus = BatchStatus & {
  /** `null` once the batch has ended. */
  readonly live: LiveCounts | null;
};

export function batchNotFound(id: string, cause?: unknown): LonghaulError {
  return new LonghaulError('JOB_NOT_FOUND', `There is no batch "${id}".`, {
    remedy: 'list the batches with `longhaul batch ls`; results are kept in the store for longer',
    cause,
  });
}

/** @throws LonghaulError JOB_NOT_FOUND, also for a workflow that is no batch; TEMPORAL_UNREACHABLE. */
export async function describeBatch(
  temporal: Temporal,
  id: string,
  signal?: AbortSignal,
): Promise<BatchDescription> {
  const found = await temporal.call(
    { jobId: null, signal },
    () => temporal.client.workflow.getHandle(id).describe(),
    (error) => (error instanceof WorkflowNotFoundError ? batchNotFound(id, error) : null),
  );
  if (found.type !== AGENT_BATCH_WORKFLOW) throw batchNotFound(id);
  return {
    id,
    execution: found.status.name,
    startedAt: found.startTime.toISOString(),
    closedAt: found.closeTime?.toISOString() ?? null,
    memo: found.memo?.batch as BatchWorkflowMemo,
  };
}

/** @throws LonghaulError WORKER_UNREACHABLE while it is open and no worker answers within 5 s. */
export async function readStatus(
  temporal: Temporal,
  store: Store,
  batch: BatchDescription,
): Promise<LiveBatchStatus> {
  if (batch.closedAt !== null) {
    const left = await readDocument<BatchStatus>(store, statusKey(batch.memo.folder));
    if (left !== null) return { ...left, live: null };
  }
  const status = await askJob<BatchStatus>(temporal, batch.id, STATUS_QUERY);
  if (batch.closedAt !== null) return { ...endedFromOutside(status, batch), live: null };
  const live = await countLive(temporal, status);
  return { ...honest(status, live), live };
}

/** A pause is no pause before the last job is paused. */
function honest(status: BatchStatus, live: LiveCounts): BatchStatus {
  const isOnItsWay = status.phase === 'paused' && live.running + live.starting > 0;
  return isOnItsWay ? { ...status, phase: 'pausing' } : status;
}

/** Temporal gave its workflow no chance to complete the results. */
function endedFromOutside(status: BatchStatus, { execution, closedAt }: BatchDescription): BatchStatus {
  return {
    ...status,
    phase: 'failed',
    waitingFor: `nothing: its workflow was ended from outside (${execution.toLowerCase()}); jobs in flight go on by themselves`,
    remainingMs: null,
    endedAt: closedAt,
  };
}

async function countLive(temporal: Temporal, { id, items }: BatchStatus): Promise<LiveCounts> {
  if (items.inFlight === 0) return { running: 0, paused: 0, starting: 0 };
  const count = async (phase: string) => {
    const query =
      `WorkflowType = '${AGENT_JOB_WORKFLOW}' AND WorkflowId STARTS_WITH '${id}/' ` +
      `AND ExecutionStatus = 'Running' AND ${PHASE_ATTRIBUTE} = '${phase}'`;
    const found = await temporal.call({ jobId: null }, () => temporal.client.workflow.count(query));
    // The list is a little behind the workflow, which knows better how many there are.
    return Math.min(found.count, items.inFlight);
  };
  const [running, paused] = await Promise.all([count('running'), count('paused')]);
  return { running, paused, starting: Math.max(0, items.inFlight - running - paused) };
}
