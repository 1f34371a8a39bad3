/** What a sandbox says of itself, for a person to read when something went wrong. */

import type { Ownership } from '../contract/activities.js';
import { jobPrefix } from '../store/journal.js';
import type { Store } from '../store/types.js';
import type { SandboxApi } from './sandbox-api/index.js';

const LOG_TAIL_LINES = 50;
/** Kept small, since it travels in a history. */
const LOG_TAIL_CHARS = 8 * 1024;
/** A pause must not wait long for what is only there to be read later. */
const READ_LIMIT_MS = 2000;
const KINDS = ['logs', 'events', 'inspect'] as const;

/** The last lines that the sandbox logged; `null` where none can be had. Never fails. */
export async function tailLogs(api: SandboxApi, sandboxId: string): Promise<string | null> {
  return tail(await api.diagnostics(sandboxId, 'logs', { tailLines: LOG_TAIL_LINES }).catch(() => ''));
}

/** The last events of the sandbox's runtime; `null` where none can be had. Never fails. */
export async function tailEvents(api: SandboxApi, sandboxId: string): Promise<string | null> {
  return tail(await api.diagnostics(sandboxId, 'events').catch(() => ''));
}

/** Logs, events and inspection, as far as they could be had. */
export type Evidence = Readonly<Partial<Record<(typeof KINDS)[number], string>>>;

/** Reads what vanishes with the pod. Never fails, and gives up what cannot be had within two seconds. */
export async function readEvidence(api: SandboxApi, sandboxId: string): Promise<Evidence> {
  const signal = AbortSignal.timeout(READ_LIMIT_MS);
  const texts = await Promise.all(
    KINDS.map(async (kind) => [kind, await api.diagnostics(sandboxId, kind, { signal }).catch(() => '')]),
  );
  return Object.fromEntries(texts.filter(([, text]) => text !== ''));
}

/**
 * Puts it into the store. Never fails.
 * @param name of the moment, e.g. `3-pause`.
 * @returns the keys of what was saved.
 */
export async function saveEvidence(
  store: Store,
  owner: Ownership,
  name: string,
  evidence: Evidence,
): Promise<string[]> {
  const saved = await Promise.all(
    Object.entries(evidence).map(async ([kind, text]) => {
      const key = `${jobPrefix(owner)}evidence/${name}-${kind}.txt`;
      return store.put(key, text).then(
        () => [key],
        () => [],
      );
    }),
  );
  return saved.flat();
}

function tail(text: string): string | null {
  const lines = text.trimEnd().split('\n').slice(-LOG_TAIL_LINES).join('\n').slice(-LOG_TAIL_CHARS);
  return lines === '' ? null : lines;
}
