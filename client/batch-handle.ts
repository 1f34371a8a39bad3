/** One batch, to look at and to steer. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client';
import type { BatchChanges, ItemOutcome } from '../contract/batch.js';
import { type BatchChangesSource, checkBatchChanges } from '../contract/batch.schema.js';
import {
  CONFIGURE_UPDATE,
  PAUSE_SIGNAL,
  type PauseRequest,
  RESUME_SIGNAL,
  type ResumeRequest,
} from '../contract/messages.js';
import type { Store } from '../store/types.js';
import { refused } from './batch-file.js';
import {
  type BatchDescription,
  batchNotFound,
  describeBatch,
  type LiveBatchStatus,
  readStatus,
} from './batch-reading.js';
import { type ResultsOptions, readHead, readResults } from './batch-results.js';
import { isUnreachable, LonghaulError } from './errors.js';
import { updateJob } from './job-updates.js';
import type { WatchOptions } from './job-watch.js';
import type { Temporal } from './temporal.js';

const LOOK_AGAIN_MS = 1000;

export class BatchHandle {
  readonly id: string;
  readonly #temporal: Temporal;
  readonly #store: () => Promise<Store>;

  constructor(temporal: Temporal, store: () => Promise<Store>, id: string) {
    this.#temporal = temporal;
    this.#store = store;
    this.id = id;
  }

  /** @throws LonghaulError JOB_NOT_FOUND; WORKER_UNREACHABLE when it is open and no worker answers within 5 s. */
  async status(signal?: AbortSignal): Promise<LiveBatchStatus> {
    return readStatus(
      this.#temporal,
      await this.#store(),
      await describeBatch(this.#temporal, this.id, signal),
    );
  }

  /** Yields the status now and every second in which something changed, and ends after the final one. */
  async *watch({ signal, onTrouble }: WatchOptions = {}): AsyncGenerator<LiveBatchStatus, void, undefined> {
    for (let seen = ''; !signal?.aborted; ) {
      try {
        const status = await this.status(signal);
        const news = JSON.stringify({ ...status, endsPerSecond: null, remainingMs: null });
        if (news !== seen) yield status;
        if (status.endedAt !== null) return;
        seen = news;
      } catch (error) {
        if (signal?.aborted) return;
        if (!isUnreachable(error)) throw error;
        onTrouble?.(error);
      }
      await sleep(LOOK_AGAIN_MS, undefined, signal === undefined ? {} : { signal }).catch(() => {});
    }
  }

  /** Starts no more jobs and holds those in flight; returns when the request is recorded. */
  async pause({ by = 'client', reason = 'asked to pause' }: Partial<PauseRequest> = {}): Promise<void> {
    await this.#steer('pause', (handle) => handle.signal<[PauseRequest]>(PAUSE_SIGNAL, { by, reason }));
  }

  /** Lets the jobs go on, spread over time, and closes an open breaker. */
  async resume({ by = 'client' }: Partial<ResumeRequest> = {}): Promise<void> {
    await this.#steer('resume', (handle) => handle.signal<[ResumeRequest]>(RESUME_SIGNAL, { by }));
  }

  /** Cancels the jobs in flight, which delete their sandboxes, and starts no more. */
  async cancel(): Promise<void> {
    await this.#steer('cancel', (handle) => handle.cancel());
  }

  /** Changes what is named; takes effect at once. @throws LonghaulError SPEC_INVALID, and then nothing is changed. */
  async configure(
    source: BatchChangesSource,
    { by = 'client' }: { readonly by?: string } = {},
  ): Promise<void> {
    const checked = checkBatchChanges(source);
    if (!checked.ok) throw refused(checked.problems);
    const request: BatchChanges = { by, changes: checked.value };
    await this.#steer('configure', () => updateJob(this.#temporal, this.id, CONFIGURE_UPDATE, request));
  }

  /** Outcomes as they are there by now, or with `follow` until the batch has ended. Needs no Temporal. */
  async *results(options: ResultsOptions = {}): AsyncGenerator<ItemOutcome, void, undefined> {
    const store = await this.#store();
    let head = await readHead(store, this.id);
    // It may be so new that its first round is not opened yet.
    while (head === null && options.follow && !options.signal?.aborted) {
      await describeBatch(this.#temporal, this.id, options.signal);
      await sleep(LOOK_AGAIN_MS);
      head = await readHead(store, this.id);
    }
    if (head === null) throw batchNotFound(this.id);
    yield* readResults(store, head, options);
  }

  async #steer(verb: string, send: (handle: WorkflowHandle) => Promise<unknown>): Promise<void> {
    const batch = await describeBatch(this.#temporal, this.id);
    if (batch.closedAt !== null) throw this.#ended(verb, batch);
    await this.#temporal.call(
      { jobId: null },
      () => send(this.#temporal.client.workflow.getHandle(this.id)),
      (error) => (error instanceof WorkflowNotFoundError ? this.#ended(verb, batch) : null),
    );
  }

  #ended(verb: string, { closedAt }: BatchDescription): LonghaulError {
    return new LonghaulError(
      'JOB_ENDED',
      `The batch "${this.id}" has ended (${closedAt ?? 'just now'}); there is nothing to ${verb}.`,
    );
  }
}
