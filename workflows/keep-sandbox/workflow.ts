/** The workflow `keepSandbox`: keeps the sandbox of a failed job until its time is over, then deletes it. */

import {
  ActivityCancellationType,
  CancellationScope,
  condition,
  defineSignal,
  isCancellation,
  proxyActivities,
  setHandler,
  sleep,
} from '@temporalio/workflow';
import type { Activities, Ownership } from '../../contract/activities.js';
import { KEEP_SIGNAL, RELEASE_SIGNAL } from '../../contract/messages.js';

const { deleteSandboxes } = proxyActivities<Activities>({
  startToCloseTimeout: '20 minutes',
  heartbeatTimeout: '30 seconds',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '10 minutes' },
});

const RETRY_MS = 10 * 60_000;

export interface KeepInput {
  readonly owner: Ownership;
  readonly sandboxId: string;
  /** ISO 8601, UTC. */
  readonly until: string;
}

const keepSignal = defineSignal<[{ until?: unknown }]>(KEEP_SIGNAL);
const releaseSignal = defineSignal(RELEASE_SIGNAL);

export async function keepSandbox({ owner, sandboxId, until }: KeepInput): Promise<void> {
  let end = Date.parse(until);
  let released = false;
  setHandler(keepSignal, (request) => {
    const asked = typeof request?.until === 'string' ? Date.parse(request.until) : Number.NaN;
    if (!Number.isNaN(asked)) end = asked;
  });
  setHandler(releaseSignal, () => {
    released = true;
  });
  try {
    while (!released && Date.now() < end) {
      const waitedFor = end;
      await condition(() => released || end !== waitedFor, end - Date.now());
    }
  } catch (error) {
    // Whoever cancels the keeping wants it to be over.
    if (!isCancellation(error)) throw error;
  }
  await CancellationScope.nonCancellable(async () => {
    for (;;) {
      try {
        await deleteSandboxes({ owner, sandboxId });
        return;
      } catch {
        // A rejected key may be mended some day; until then nothing else can be done.
        await sleep(RETRY_MS);
      }
    }
  });
}
