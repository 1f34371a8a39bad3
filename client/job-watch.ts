/** Follows a job from change to change, for as long as it takes. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { JobStatus } from '../contract/status.js';
import { isUnreachable, type LonghaulError } from './errors.js';
import { isFinal } from './job-status.js';

export interface WatchOptions {
  /** Ends the watch, without an error. */
  readonly signal?: AbortSignal;
  /** Hears of every look at which nobody could be asked; the watch goes on. */
  readonly onTrouble?: (trouble: LonghaulError) => void;
}

/** Between two looks while something changes. */
const QUICK_MS = 1000;
/** Between two looks at a job in which nothing happens, or when nobody answers. */
const SLOW_MS = 5000;
/** Looks without a change before they become rarer. */
const PATIENCE = 30;

/**
 * Yields the status now, then whenever it has changed, and ends after the final one.
 * @param look rejects with an unreachable error when nobody could be asked; other errors end the watch.
 */
export async function* watchJob(
  look: () => Promise<JobStatus>,
  { signal, onTrouble }: WatchOptions,
): AsyncGenerator<JobStatus, void, undefined> {
  let seen = '';
  let unchanged = 0;
  let waitMs = QUICK_MS;
  while (!signal?.aborted) {
    try {
      const status = await look();
      const news = essence(status);
      unchanged = news === seen ? unchanged + 1 : 0;
      waitMs = unchanged < PATIENCE ? QUICK_MS : Math.min(waitMs * 1.2, SLOW_MS);
      if (news !== seen) {
        seen = news;
        yield status;
        if (isFinal(status.phase)) return;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!isUnreachable(error)) throw error;
      onTrouble?.(error);
      waitMs = Math.min(waitMs * 1.5, SLOW_MS);
    }
    await sleep(waitMs, undefined, signal === undefined ? {} : { signal }).catch(() => {});
  }
}

/** What counts as a change: not that time has passed, nor that the same checkpoint was read again. */
function essence(status: JobStatus): string {
  const checkpoint = status.checkpoint === null ? null : { ...status.checkpoint, readAt: '' };
  return JSON.stringify({ ...status, hours: null, checkpoint });
}
