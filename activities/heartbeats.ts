/** Waiting inside an activity: seen by Temporal through heartbeats, ended at once by a cancellation. */

import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';

/** Well below the shortest heartbeat timeout in use (10 s). */
const BEAT_EVERY_MS = 3000;

/** Beats until `work` settles, for a call that itself gives no sign of life. */
export async function heartbeatWhile<T>(work: Promise<T>, details?: unknown): Promise<T> {
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(details), BEAT_EVERY_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

/**
 * Sleeps, beating all the while.
 * @throws the reason of the cancellation, as it is, when the activity is cancelled or its worker shuts down.
 */
export async function heartbeatSleep(durationMs: number, details?: unknown): Promise<void> {
  const context = Context.current();
  const signal = context.cancellationSignal;
  for (let leftMs = durationMs; leftMs > 0; leftMs -= BEAT_EVERY_MS) {
    context.heartbeat(details);
    await sleep(Math.min(leftMs, BEAT_EVERY_MS), undefined, { signal }).catch(() => {
      throw signal.reason;
    });
  }
}
