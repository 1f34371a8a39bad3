/** Deletes all that a job has, and believes it only when the API says that it is gone. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { DeleteInput, DeleteOutcome } from '../contract/activities.js';
import type { Dependencies } from './dependencies.js';
import { readEvidence, saveEvidence } from './evidence.js';
import { later } from './failures.js';
import { heartbeatWhile } from './heartbeats.js';
import { ownerLabels } from './labels.js';
import type { SandboxApi } from './sandbox-api/index.js';

/** A sandbox that no answer was ever seen of may show up in the list late; see create-sandbox.ts. */
const SETTLE_MS = 10_000;
/** A deletion takes milliseconds to a minute (grace period of the pod); then the attempt is repeated. */
const GONE_DEADLINE_MS = 90_000;
const POLL_MS = 500;

export function deleteSandboxesWith({ api, watches, store }: Dependencies) {
  return async function deleteSandboxes({ owner, sandboxId, evidence }: DeleteInput): Promise<DeleteOutcome> {
    if (sandboxId !== null) watches.stop(sandboxId);
    return heartbeatWhile(saveThenDelete());

    async function saveThenDelete(): Promise<DeleteOutcome> {
      if (sandboxId !== null && evidence !== undefined)
        await saveEvidence(store, owner, evidence, await readEvidence(api, sandboxId));
      return deleteAll();
    }

    async function deleteAll(): Promise<DeleteOutcome> {
      const deleted = await removeAll(api, ownerLabels(owner), sandboxId);
      // Without a known ID the last create was never answered: give it the time to show up.
      for (const giveUpAt = Date.now() + SETTLE_MS; sandboxId === null && Date.now() < giveUpAt; ) {
        await sleep(POLL_MS);
        deleted.push(...(await removeAll(api, ownerLabels(owner), null)));
      }
      return { deleted };
    }
  };
}

/**
 * Deletes the named sandbox and every one with these labels, and waits until each is gone.
 * @returns their IDs.
 * @throws a retryable failure when the API does not confirm in time; a repetition is harmless.
 */
export async function removeAll(
  api: SandboxApi,
  labels: Readonly<Record<string, string>>,
  sandboxId: string | null,
): Promise<string[]> {
  const listed = await api.list({ metadata: labels });
  const ids = new Set(listed.map((sandbox) => sandbox.id));
  if (sandboxId !== null) ids.add(sandboxId);
  for (const id of ids) await removeOne(api, id);
  return [...ids];
}

/** Deletes one sandbox, and waits until it is gone. @throws a retryable failure when that is not confirmed in time. */
export async function removeOne(api: SandboxApi, id: string): Promise<void> {
  await api.delete(id);
  for (const giveUpAt = Date.now() + GONE_DEADLINE_MS; ; await sleep(POLL_MS)) {
    const sandbox = await api.get(id);
    // Some deployments show a deleted sandbox as Terminated for a while, others forget it at once.
    if (sandbox === null || sandbox.state === 'Terminated') return;
    if (Date.now() >= giveUpAt) {
      throw later(
        'SANDBOX_API_UNREACHABLE',
        `Sandbox ${id} is still ${sandbox.state} long after its delete.`,
        null,
      );
    }
  }
}
