/** Ends a job: collects what it made, leaves nothing in the API but what is to be kept, and tells the result. */

import {
  ApplicationFailure,
  allHandlersFinished,
  CancelledFailure,
  condition,
  ParentClosePolicy,
  startChild,
} from '@temporalio/workflow';
import { KEEP_SANDBOX_WORKFLOW, keeperId } from '../../contract/messages.js';
import type { JobResult } from '../../contract/status.js';
import { collectArtifacts, deleteSandboxes, pauseSandbox, probe } from './activities.js';
import type { End } from './end.js';
import { writeEventLog } from './event-log.js';
import { isParkedBy } from './failures.js';
import { type Job, now } from './job.js';
import { switchMeter } from './meter.js';
import type { Notifier } from './notifier.js';
import { type JobSandbox, warn } from './state.js';
import { toStatus } from './status.js';
import { refOf } from './steps.js';
import { enterPhase } from './timeline.js';

/** To be called where no cancellation reaches it. @throws what the job ends with, unless it is completed. */
export async function finish(job: Job, notifier: Notifier, end: End): Promise<JobResult> {
  enterPhase(job.state, 'collecting', causeOf(end), now());
  await collect(job, end);
  if (!(await keep(job, end))) await cleanUp(job, end);
  return close(job, notifier, end);
}

/** Fetches the artifacts while the sandbox still runs; what cannot be had is told, and ends nothing otherwise. */
async function collect({ owner, spec, state }: Job, end: End): Promise<void> {
  const paths = spec.artifacts ?? [];
  if (paths.length === 0 || state.sandbox?.state !== 'running' || end.as === 'cancelled') return;
  try {
    const { artifacts, problems } = await collectArtifacts({ owner, sandbox: refOf(state.sandbox), paths });
    state.artifacts = artifacts;
    for (const problem of problems) warn(state, `An artifact was not collected: ${problem}`);
  } catch (error) {
    warn(
      state,
      `The artifacts were not collected: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** Keeps the sandbox of a failed job for a person to look at, where the spec says so. @returns whether it did. */
async function keep(job: Job, end: End): Promise<boolean> {
  const { id, owner, spec, state } = job;
  const { sandbox } = state;
  if (end.as !== 'failed' || end.code === 'SANDBOX_LOST') return false;
  if (spec.keepOnFailureMs == null || sandbox === null) return false;
  try {
    if (sandbox.state !== 'paused') await pauseKept(job, sandbox);
  } catch (error) {
    if (isParkedBy(error) === null) throw error;
    return false;
  }
  const until = new Date(Date.now() + spec.keepOnFailureMs).toISOString();
  await startChild(KEEP_SANDBOX_WORKFLOW, {
    args: [{ owner, sandboxId: sandbox.id, until }],
    workflowId: keeperId(id, owner.runChainId),
    parentClosePolicy: ParentClosePolicy.ABANDON,
  });
  state.kept = { sandboxId: sandbox.id, until };
  state.meter = switchMeter(state.meter, null, now());
  return true;
}

/** One that cannot be paused is kept as it is: it is of use all the same. */
async function pauseKept({ owner, spec, state }: Job, sandbox: JobSandbox): Promise<void> {
  const outcome = await pauseSandbox({ sandbox: refOf(sandbox), checkpoint: spec.checkpoint, owner });
  if (outcome.kind === 'paused') sandbox.state = 'paused';
  else warn(state, 'The sandbox is kept, but could not be paused.');
}

/** Returns when nothing of the job is left in the API, however long that takes. */
async function cleanUp({ owner, state }: Job, end: End): Promise<void> {
  if (state.sandbox?.state === 'deleted') state.meter = switchMeter(state.meter, null, now());
  while (state.epoch > 0 && state.sandbox?.state !== 'deleted') {
    try {
      const { sandbox } = state;
      await deleteSandboxes({
        owner,
        sandboxId: sandbox?.id ?? null,
        ...(end.as === 'failed' && sandbox !== null ? { evidence: `${sandbox.incarnation}-failed` } : {}),
      });
      state.meter = switchMeter(state.meter, null, now());
      if (sandbox === null) return;
      sandbox.state = 'deleted';
    } catch (error) {
      const reason = isParkedBy(error);
      if (reason === null) throw error;
      warn(state, `The sandbox could not be deleted yet: ${reason}`);
      await probe({ until: 'api-accepts-key' });
    }
  }
}

async function close(job: Job, notifier: Notifier, end: End): Promise<JobResult> {
  const { id, state } = job;
  state.endedAt = now();
  state.holds = [];
  if (end.as === 'completed') state.result = end.result;
  if (end.as === 'failed') state.failure = { code: end.code, message: end.message, logs: end.logs };
  enterPhase(state, end.as, causeOf(end), state.endedAt);
  await writeEventLog(job);
  await notifier.handOver();
  await condition(allHandlersFinished);
  const status = toStatus(id, state, state.endedAt);
  switch (end.as) {
    case 'completed':
      return { result: end.result, status };
    case 'cancelled':
      throw new CancelledFailure('The job was cancelled.');
    case 'failed':
      throw ApplicationFailure.create({
        type: end.code,
        message: end.message,
        nonRetryable: true,
        details: [status],
      });
  }
}

function causeOf(end: End): string {
  switch (end.as) {
    case 'completed':
      return 'the agent is done';
    case 'cancelled':
      return 'the job was cancelled';
    case 'failed':
      return `${end.code}: ${end.message}`;
  }
}
