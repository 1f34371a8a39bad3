/** One job, to look at and to steer. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client';
import type { JobSettings } from '../contract/job-settings.js';
import type { JobSettingsSource } from '../contract/job-settings.schema.js';
import {
  BOUNCE_SIGNAL,
  CONFIGURE_UPDATE,
  INPUT_UPDATE,
  KEEP_SIGNAL,
  keeperId,
  NUDGE_SIGNAL,
  PAUSE_SIGNAL,
  type PauseRequest,
  RECREATE_SIGNAL,
  RELEASE_SIGNAL,
  RESUME_SIGNAL,
  type ResumeRequest,
  SETTINGS_QUERY,
} from '../contract/messages.js';
import type { JobStatus } from '../contract/status.js';
import { isUnreachable, LonghaulError } from './errors.js';
import { describeJob } from './job-description.js';
import { awaitEnding, StatusReader } from './job-reading.js';
import { phaseOf } from './job-status.js';
import { type JobTimeline, readTimeline } from './job-timeline.js';
import { askJob, updateJob } from './job-updates.js';
import { type WatchOptions, watchJob } from './job-watch.js';
import type { Temporal } from './temporal.js';

/** One round of waiting for a result; ended by a deadline, so that a dead connection is noticed. */
const RESULT_ROUND_MS = 60_000;
const RESULT_RETRY_MS = 2000;

const REMEDY_SIGNALS = { nudge: NUDGE_SIGNAL, bounce: BOUNCE_SIGNAL, recreate: RECREATE_SIGNAL } as const;

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

  /**
   * Sets the manual hold (until then, with `until`), or that of the fleet; returns when the request is recorded,
   * not when the job is paused.
   */
  async pause(request: Partial<PauseRequest> = {}): Promise<void> {
    const sent: PauseRequest = { by: 'client', reason: 'asked to pause', ...request };
    await this.#steer('pause', (handle) => handle.signal(PAUSE_SIGNAL, sent));
  }

  /**
   * Clears the manual, external and operator holds and overrides the window that holds the job now until its end;
   * with `force` it clears every hold. Returns when the request is recorded.
   */
  async resume(request: Partial<ResumeRequest> = {}): Promise<void> {
    const sent: ResumeRequest = { by: 'client', ...request };
    await this.#steer('resume', (handle) => handle.signal(RESUME_SIGNAL, sent));
  }

  /**
   * Answers the agent's question. Returns when the answer is recorded; the agent gets it exactly once, as soon as
   * its sandbox runs again.
   * @throws LonghaulError NO_QUESTION, INPUT_INVALID.
   */
  async provideInput(value: unknown, { by = 'client' }: { readonly by?: string } = {}): Promise<void> {
    await this.#steer('answer', () => updateJob(this.#temporal, this.id, INPUT_UPDATE, { by, value }));
  }

  /**
   * Changes settings of the live job; what `changes` does not name stays as it is.
   * @returns the settings as they are now.
   * @throws LonghaulError SPEC_INVALID with every problem; then nothing was changed.
   */
  async configure(
    changes: JobSettingsSource,
    { by = 'client' }: { readonly by?: string } = {},
  ): Promise<JobSettings> {
    let settings: unknown;
    await this.#steer('configure', async () => {
      settings = await updateJob(this.#temporal, this.id, CONFIGURE_UPDATE, { by, changes });
    });
    return settings as JobSettings;
  }

  /**
   * Asks for a step of recovery: `nudge` (tell the agent), `bounce` (a new process on the same workspace) or
   * `recreate` (a new sandbox, from the last snapshot). Returns when the request is recorded.
   */
  async recover(
    step: 'nudge' | 'bounce' | 'recreate',
    { by = 'client' }: { readonly by?: string } = {},
  ): Promise<void> {
    await this.#steer(step, (handle) => handle.signal(REMEDY_SIGNALS[step], { by }));
  }

  /**
   * Keeps the sandbox of the failed job until then, instead of the time that its spec says.
   * @throws LonghaulError JOB_NOT_FOUND where none is kept.
   */
  keep(until: Date): Promise<void> {
    return this.#signalKeeper(KEEP_SIGNAL, { until: until.toISOString() });
  }

  /** Deletes the kept sandbox of the failed job now. @throws LonghaulError JOB_NOT_FOUND where none is kept. */
  release(): Promise<void> {
    return this.#signalKeeper(RELEASE_SIGNAL);
  }

  /** The settings in force. @throws LonghaulError WORKER_UNREACHABLE. */
  settings(): Promise<JobSettings> {
    return askJob(this.#temporal, this.id, SETTINGS_QUERY);
  }

  /** What happened to the job, in order: from the event log where it can be read, else the latest part. */
  async timeline(): Promise<JobTimeline> {
    return readTimeline(this.#temporal, await describeJob(this.#temporal, this.id));
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

  async #signalKeeper(signal: string, ...args: unknown[]): Promise<void> {
    const { runChainId } = await describeJob(this.#temporal, this.id);
    const nothing = (cause: unknown) =>
      new LonghaulError('JOB_NOT_FOUND', `No sandbox of the job "${this.id}" is kept.`, {
        remedy: 'a spec says "keep: { onFailure: 24h }" for that before its job fails',
        cause,
      });
    await this.#temporal.call(
      { jobId: this.id },
      () => this.#temporal.client.workflow.getHandle(keeperId(this.id, runChainId)).signal(signal, ...args),
      (error) => (error instanceof WorkflowNotFoundError ? nothing(error) : null),
    );
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
