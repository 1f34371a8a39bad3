/** What a sandbox says of itself, for a person to read when something went wrong. */

import type { Ownership } from '../contract/activities.js';
import { jobPrefix } from '../store/journal.js';
import type { Store } from '../store/types.js';
import type { SandboxApi } from './sandbox-api/index.js';

const LOG_TAIL_LINES = 50;
/** Kept small, since it travels in a history. */
const LOG_TAIL_CHARS = 8 * 1024;
/** A pause must not wait long for what is only there to be read later. */
const SAVE_LIMIT_MS = 2000;
const KINDS = ['logs', 'events', 'inspect'] as const;

/** The last lines that the sandbox logged; `null` where none can be had. Never fails. */
export async function tailLogs(api: SandboxApi, sandboxId: string): Promise<string | null> {
  return tail(await api.diagnostics(sandboxId, 'logs', { tailLines: LOG_TAIL_LINES }).catch(() => ''));
}

/** The last events of the sandbox's runtime; `null` where none can be had. Never fails. */
export async function tailEvents(api: SandboxApi, sandboxId: string): Promise<string | null> {
  return tail(await api.diagnostics(sandboxId, 'events').catch(() => ''));
}

/**
 * Puts logs, events and inspection into the store, before they vanish with the pod. Never fails, and gives
 * up what cannot be had within two seconds.
 * @param name of the moment, e.g. `3-pause`.
 * @returns the keys of what was saved.
 */
export async function saveEvidence(
  api: SandboxApi,
  store: Store,
  owner: Ownership,
  sandboxId: string,
  name: string,
): Promise<string[]> {
  const signal = AbortSignal.timeout(SAVE_LIMIT_MS);
  const saved = await Promise.all(
    KINDS.map(async (kind) => {
      try {
        const text = await api.diagnostics(sandboxId, kind, { signal });
        if (text === '') return [];
        const key = `${jobPrefix(owner)}evidence/${name}-${kind}.txt`;
        await store.put(key, text, signal);
        return [key];
      } catch {
        return [];
      }
    }),
  );
  return saved.flat();
}

function tail(text: string): string | null {
  const lines = text.trimEnd().split('\n').slice(-LOG_TAIL_LINES).join('\n').slice(-LOG_TAIL_CHARS);
  return lines === '' ? null : lines;
}
