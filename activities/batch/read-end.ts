/** What became of a job whose workflow has ended, from what Temporal keeps of it. */

import {
  ApplicationFailure,
  CancelledFailure,
  type Client,
  WorkflowFailedError,
  type WorkflowHandle,
} from '@temporalio/client';
import type { BatchRound, ItemOutcome } from '../../contract/batch.js';
import type { BatchItem } from '../../contract/batch-files.js';
import { ERROR_CODES, type ErrorCode } from '../../contract/errors.js';
import { STATUS_QUERY } from '../../contract/messages.js';
import type { JobResult, JobStatus } from '../../contract/status.js';

/** Only a worker can tell what a cancelled job has used; an outcome must not wait for one for long. */
const QUERY_DEADLINE_MS = 5000;

export interface ClosedJob {
  readonly jobId: string;
  readonly runId: string;
  readonly startedAt: string;
  readonly endedAt: string;
}

export async function readEnd(
  client: Client,
  round: BatchRound,
  { id, line, index }: BatchItem,
  { jobId, runId, startedAt, endedAt }: ClosedJob,
): Promise<ItemOutcome> {
  const handle = client.workflow.getHandle(jobId, runId, { followRuns: false });
  const { status, ...end } = await ending(client, handle);
  return {
    item: id,
    line,
    index,
    attempt: round.number,
    jobId,
    ...end,
    hours: status?.hours ?? null,
    sandboxes: status?.sandboxes ?? null,
    startedAt: status?.startedAt ?? startedAt,
    endedAt: status?.endedAt ?? endedAt,
  };
}

type Ending = Pick<ItemOutcome, 'outcome' | 'code' | 'message' | 'result'> & {
  /** Jobs that an older version ended tell no number of sandboxes. */
  readonly status: JobStatus | null;
};

async function ending(client: Client, handle: WorkflowHandle): Promise<Ending> {
  try {
    const { result, status } = (await handle.result()) as JobResult;
    return { outcome: 'completed', code: null, message: null, result: result ?? null, status };
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    const { cause } = error;
    if (cause instanceof CancelledFailure) {
      const status = await askStatus(client, handle);
      return { outcome: 'cancelled', code: 'JOB_CANCELLED', message: null, result: null, status };
    }
    if (cause instanceof ApplicationFailure && isErrorCode(cause.type)) {
      const [status] = (cause.details ?? []) as [JobStatus?];
      const { type: code, message } = cause;
      return { outcome: 'failed', code, message, result: null, status: status ?? null };
    }
    // Terminated, timed out, or a bug: Temporal gave the workflow no chance to clean up.
    const message = `The workflow ended from outside (${cause?.message ?? error.message}); its sandbox may be left.`;
    return { outcome: 'failed', code: 'UNEXPECTED', message, result: null, status: null };
  }
}

async function askStatus(client: Client, handle: WorkflowHandle): Promise<JobStatus | null> {
  const ask = () => handle.query<JobStatus>(STATUS_QUERY);
  return client.withDeadline(Date.now() + QUERY_DEADLINE_MS, ask).catch(() => null);
}

function isErrorCode(type: unknown): type is ErrorCode {
  return typeof type === 'string' && type in ERROR_CODES;
}
