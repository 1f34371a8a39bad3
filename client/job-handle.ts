/** One job, to look at and to steer. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client';
import { PAUSE_SIGNAL, type PauseRequest, RESUME_SIGNAL, type ResumeRequest } from '../contract/messages.js';
import type { JobStatus } from '../contract/status.js';
import { isUnreachable, LonghaulError } from './errors.js';
import { describeJob } from './job-description.js';
import { awaitEnding, StatusReader } from './job-reading.js';
import { phaseOf } from './job-status.js';
import { type WatchOptions, watchJob } from './job-watch.js';
import type { Temporal } from './temporal.js';

/** One round of waiting for a result; ended by a deadline, so that a dead connection is noticed. */
const RESULT_ROUND_MS = 60_000;
const RESULT_RETRY_MS = 2000;

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
    return new StatusReader(this.#temporal).read(await describeJob(this.#temporal, this.id));
  }

  /**
   * Yields the status now and at every change, and ends after the final one. It outlasts the absence of workers
   * and of Temporal.
   * @throws LonghaulError JOB_NOT_FOUND.
   */
  watch(options: WatchOptions = {}): AsyncGenerator<JobStatus, void, undefined> {
    const reader = new StatusReader(this.#temporal);
    const { signal } = options;
    const look = async () => reader.read(await describeJob(this.#temporal, this.id, signal), signal);
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
        const ending = await awaitEnding(this.#temporal, this.id, { deadlineMs: RESULT_ROUND_MS, signal });
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
        'JOB_ENDED',
        `The job "${this.id}" has ended (${phase}); there is nothing to ${verb}.`,
      );
    if (description.closedAt !== null) throw ended(phaseOf(description));
    await this.#temporal.call(
      { jobId: this.id },
      () => send(this.#temporal.client.workflow.getHandle(this.id)),
      (error) => (error instanceof WorkflowNotFoundError ? ended('just now') : null),
    );
  }
}
