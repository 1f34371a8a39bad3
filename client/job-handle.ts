/** One job, to look at and to steer. */

import { setTimeout as sleep } from 'node:timers/promises';
import {
  ApplicationFailure,
  CancelledFailure,
  WorkflowFailedError,
  type WorkflowHandle,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { ERROR_CODES, type ErrorCode } from '../contract/errors.js';
import {
  PAUSE_SIGNAL,
  type PauseRequest,
  RESUME_SIGNAL,
  type ResumeRequest,
  STATUS_QUERY,
} from '../contract/messages.js';
import type { JobResult, JobStatus } from '../contract/status.js';
import { GRPC, grpcStatusOf, isUnreachable, LonghaulError } from './errors.js';
import { describeJob, type JobDescription } from './job-description.js';
import { type Ending, endedStatus, phaseOf, withLiveState } from './job-status.js';
import { type WatchOptions, watchJob } from './job-watch.js';
import type { Temporal } from './temporal.js';

/** How long a worker may take to answer before it counts as absent. */
const WORKER_DEADLINE_MS = 5000;
/** One round of waiting for a result; ended by a deadline, so that a dead connection is noticed. */
const RESULT_ROUND_MS = 60_000;
const RESULT_RETRY_MS = 2000;
/** Between two questions to the workflow while its history stands still: only its meters can have changed. */
const ASK_AGAIN_AFTER_MS = 30_000;

/** An answer of the workflow, and at which state of its history it was given. */
interface Answer {
  readonly status: JobStatus;
  readonly at: Pick<JobDescription, 'runId' | 'historyLength'>;
  readonly askedAtMs: number;
}

export class JobHandle {
  readonly id: string;
  readonly #temporal: Temporal;

  constructor(temporal: Temporal, id: string) {
    this.#temporal = temporal;
    this.id = id;
  }

  /**
   * The job as it stands now. An ended job needs no worker for it.
   * @throws LonghaulError JOB_NOT_FOUND, WORKER_UNREACHABLE when no worker answers within 5 s.
   */
  async status(): Promise<JobStatus> {
    const description = await describeJob(this.#temporal, this.id);
    if (description.closedAt !== null) return this.#endedStatus(description);
    return withLiveState((await this.#ask(description)).status, description);
  }

  /**
   * Yields the status now and at every change, and ends after the final one. It outlasts the absence of workers
   * and of Temporal.
   * @throws LonghaulError JOB_NOT_FOUND.
   */
  watch(options: WatchOptions = {}): AsyncGenerator<JobStatus, void, undefined> {
    let answer: Answer | null = null;
    const look = async () => {
      const description = await describeJob(this.#temporal, this.id, options.signal);
      if (description.closedAt !== null) return this.#endedStatus(description, options.signal);
      if (!isFresh(answer, description)) answer = await this.#ask(description, options.signal);
      return withLiveState((answer as Answer).status, description);
    };
    return watchJob(look, options);
  }

  /** Sets the manual hold; returns when the request is recorded, not when the job is paused. */
  async pause({ by = 'client', reason = 'asked to pause' }: Partial<PauseRequest> = {}): Promise<void> {
    const request: PauseRequest = { by, reason };
    await this.#steer('pause', (handle) => handle.signal(PAUSE_SIGNAL, request));
  }

  /** Clears the manual, external and operator holds; returns when the request is recorded. */
  async resume({ by = 'client' }: Partial<ResumeRequest> = {}): Promise<void> {
    const request: ResumeRequest = { by };
    await this.#steer('resume', (handle) => handle.signal(RESUME_SIGNAL, request));
  }

  /** Asks the job to end and to delete its sandbox; returns when the request is recorded. */
  async cancel(): Promise<void> {
    await this.#steer('cancel', (handle) => handle.cancel());
  }

  /**
   * Waits for the end, however long and through absences of Temporal.
   * @returns what the agent left as its result.
   * @throws LonghaulError with the code of the failure, or JOB_CANCELLED; the reason of `signal`.
   */
  async result({ signal }: { readonly signal?: AbortSignal } = {}): Promise<unknown> {
    for (;;) {
      signal?.throwIfAborted();
      try {
        const ending = await this.#ending(RESULT_ROUND_MS, signal);
        if (ending.kind === 'completed') return ending.result.result;
        if (ending.kind === 'failed') throw new LonghaulError(ending.code, ending.message);
        throw new LonghaulError('JOB_CANCELLED', `The job "${this.id}" was cancelled.`);
      } catch (error) {
        signal?.throwIfAborted();
        if (!isUnreachable(error)) throw error;
        await sleep(RESULT_RETRY_MS, undefined, signal === undefined ? {} : { signal }).catch(() => {});
      }
    }
  }

  async #steer(verb: string, send: (handle: WorkflowHandle) => Promise<unknown>): Promise<void> {
    // Also makes sure that it is a job: other people's workflows may live in the namespace.
    const description = await describeJob(this.#temporal, this.id);
    const ended = (phase: string) =>
      new LonghaulError(
        'JOB_NOT_FOUND',
        `The job "${this.id}" has ended (${phase}); there is nothing to ${verb}.`,
      );
    if (description.closedAt !== null) throw ended(phaseOf(description));
    await this.#temporal.call(
      { jobId: this.id },
      () => send(this.#handle()),
      (error) => (error instanceof WorkflowNotFoundError ? ended('just now') : null),
    );
  }

  /** Asks the workflow itself, which needs a worker. */
  async #ask(description: JobDescription, signal?: AbortSignal): Promise<Answer> {
    const askedAtMs = Date.now();
    const status = await this.#temporal.call(
      { jobId: this.id, deadlineMs: WORKER_DEADLINE_MS, signal },
      () => this.#handle().query<JobStatus>(STATUS_QUERY),
      (error) => (isNoAnswer(error) ? noWorker(description.taskQueue, error) : null),
    );
    return { status, at: description, askedAtMs };
  }

  async #endedStatus(description: JobDescription, signal?: AbortSignal): Promise<JobStatus> {
    const ending = await this.#ending(undefined, signal);
    const isTold = ending.kind === 'completed' || (ending.kind === 'failed' && ending.status !== null);
    // Temporal keeps no status of a job that was cancelled or terminated, but its workflow can still be asked.
    const answer = isTold
      ? null
      : await this.#ask(description, signal).catch((error) => {
          if (isUnreachable(error)) return null;
          throw error;
        });
    return endedStatus(description, ending, answer?.status ?? null);
  }

  /** Waits for the end of the workflow, over its runs. */
  async #ending(deadlineMs: number | undefined, signal?: AbortSignal): Promise<Ending> {
    try {
      const result = await this.#temporal.call(
        { jobId: this.id, signal, ...(deadlineMs === undefined ? {} : { deadlineMs }) },
        () => this.#handle().result() as Promise<JobResult>,
        (error) => (error instanceof WorkflowFailedError ? error : null),
      );
      return { kind: 'completed', result };
    } catch (error) {
      if (error instanceof WorkflowFailedError) return toEnding(error);
      throw error;
    }
  }

  #handle(): WorkflowHandle {
    return this.#temporal.client.workflow.getHandle(this.id);
  }
}

/** The workflow would say the same again, but for the time that has passed. */
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

/** The server waited in vain for a worker, or has not seen one for so long that it does not even try. */
function isNoAnswer(error: unknown): boolean {
  const code = grpcStatusOf(error)?.code;
  return code === GRPC.DEADLINE_EXCEEDED || code === GRPC.FAILED_PRECONDITION;
}

function noWorker(taskQueue: string, cause: unknown): LonghaulError {
  return new LonghaulError('WORKER_UNREACHABLE', `No worker answers on task queue "${taskQueue}".`, {
    remedy: 'start one with `longhaul worker`; the job itself is safe and goes on then',
    cause,
  });
}
