/** Reads a job's status from those who know it: its workflow, by a worker; or Temporal, once it has ended. */

import {
  ApplicationFailure,
  CancelledFailure,
  WorkflowFailedError,
  type WorkflowHandle,
} from '@temporalio/client';
import { ERROR_CODES, type ErrorCode } from '../contract/errors.js';
import { STATUS_QUERY } from '../contract/messages.js';
import type { JobResult, JobStatus } from '../contract/status.js';
import { GRPC, grpcStatusOf, LonghaulError } from './errors.js';
import type { JobDescription } from './job-description.js';
import { type Ending, endedStatus, withLiveState } from './job-status.js';
import type { CallOptions, Temporal } from './temporal.js';

/** How long a worker may take to answer before it counts as absent. */
export const WORKER_DEADLINE_MS = 5000;
/** Between two questions to a workflow whose history stands still: only its meters can have changed. */
const ASK_AGAIN_AFTER_MS = 30_000;

/** An answer of the workflow, and at which state of its history it was given. */
interface Answer {
  readonly status: JobStatus;
  readonly at: Pick<JobDescription, 'runId' | 'historyLength'>;
  readonly askedAtMs: number;
}

/** Remembers the last answer, so that following a job does not ask its worker every second. */
export class StatusReader {
  readonly #temporal: Temporal;
  #answer: Answer | null = null;

  constructor(temporal: Temporal) {
    this.#temporal = temporal;
  }

  /**
   * @param description as Temporal gave it just now.
   * @throws LonghaulError WORKER_UNREACHABLE for an open job, when no worker answers within 5 s.
   */
  async read(description: JobDescription, signal?: AbortSignal): Promise<JobStatus> {
    if (description.closedAt !== null) return readEnded(this.#temporal, description, signal);
    if (!isFresh(this.#answer, description)) {
      const askedAtMs = Date.now();
      const status = await ask(this.#temporal, description, signal);
      this.#answer = { status, at: description, askedAtMs };
    }
    return withLiveState((this.#answer as Answer).status, description);
  }
}

/**
 * Waits for the end of the job's workflow, over all its runs.
 * @throws LonghaulError TEMPORAL_UNREACHABLE also when the deadline has passed.
 */
export async function awaitEnding(
  temporal: Temporal,
  jobId: string,
  options: Omit<CallOptions, 'jobId'>,
): Promise<Ending> {
  try {
    const result = await temporal.call(
      { jobId, ...options },
      () => handleOf(temporal, jobId).result() as Promise<JobResult>,
      (error) => (error instanceof WorkflowFailedError ? error : null),
    );
    return { kind: 'completed', result };
  } catch (error) {
    if (error instanceof WorkflowFailedError) return toEnding(error);
    throw error;
  }
}

async function readEnded(
  temporal: Temporal,
  description: JobDescription,
  signal: AbortSignal | undefined,
): Promise<JobStatus> {
  const ending = await awaitEnding(temporal, description.id, { signal });
  const isTold = ending.kind === 'completed' || (ending.kind === 'failed' && ending.status !== null);
  if (isTold) return endedStatus(description, ending, null);
  // Temporal keeps no status of a job that was cancelled or terminated, but its workflow can still be asked.
  const answer = await ask(temporal, description, signal).catch((error) => {
    if (error instanceof LonghaulError && error.code === 'WORKER_UNREACHABLE') return null;
    throw error;
  });
  return endedStatus(description, ending, answer);
}

/** Asks the workflow itself, which needs a worker. */
function ask(
  temporal: Temporal,
  { id, taskQueue }: JobDescription,
  signal: AbortSignal | undefined,
): Promise<JobStatus> {
  return temporal.call(
    { jobId: id, deadlineMs: WORKER_DEADLINE_MS, signal },
    () => handleOf(temporal, id).query<JobStatus>(STATUS_QUERY),
    (error) => (isNoAnswer(error) ? noWorker(taskQueue, error) : null),
  );
}

function handleOf(temporal: Temporal, jobId: string): WorkflowHandle {
  return temporal.client.workflow.getHandle(jobId);
}

function isFresh(answer: Answer | null, { runId, historyLength }: JobDescription): boolean {
  return (
    answer !== null &&
    answer.at.runId === runId &&
    answer.at.historyLength === historyLength &&
    Date.now() - answer.askedAtMs < ASK_AGAIN_AFTER_MS
  );
}

function toEnding({ cause, message }: WorkflowFailedError): Ending {
  if (cause instanceof CancelledFailure) return { kind: 'cancelled' };
  if (cause instanceof ApplicationFailure && isErrorCode(cause.type)) {
    const [status] = (cause.details ?? []) as [JobStatus?];
    return { kind: 'failed', code: cause.type, message: cause.message, status: status ?? null };
  }
  // Terminated, timed out, or a bug: Temporal gave the workflow no chance to clean up.
  const why = cause?.message ?? message;
  return {
    kind: 'failed',
    code: 'UNEXPECTED',
    message: `The workflow ended from outside (${why}); its sandbox may be left.`,
    status: null,
  };
}

function isErrorCode(type: unknown): type is ErrorCode {
  return typeof type === 'string' && type in ERROR_CODES;
}

/**
 * The server waited in vain for a worker (its own clock may notice the deadline first, and then it speaks of a
 * cancelled call), or has not seen one for so long that it does not even try.
 */
export function isNoAnswer(error: unknown): boolean {
  const code = grpcStatusOf(error)?.code;
  return code === GRPC.DEADLINE_EXCEEDED || code === GRPC.CANCELLED || code === GRPC.FAILED_PRECONDITION;
}

export function noWorker(taskQueue: string, cause: unknown): LonghaulError {
  return new LonghaulError('WORKER_UNREACHABLE', `No worker answers on task queue "${taskQueue}".`, {
    remedy: 'start one with `longhaul worker`; the job itself is safe and goes on then',
    cause,
  });
}
