/** What a sandbox says of itself, for a person to read when something went wrong. */

import type { SandboxApi } from './sandbox-api/index.js';

const LOG_TAIL_LINES = 50;
/** Kept small, since it travels in a history. */
const LOG_TAIL_CHARS = 8 * 1024;

/** The last lines that the sandbox logged; `null` where none can be had. Never fails. */
export async function tailLogs(api: SandboxApi, sandboxId: string): Promise<string | null> {
  return tail(await api.diagnostics(sandboxId, 'logs', { tailLines: LOG_TAIL_LINES }).catch(() => ''));
}

/** The last events of the sandbox's runtime; `null` where none can be had. Never fails. */
export async function tailEvents(api: SandboxApi, sandboxId: string): Promise<string | null> {
  return tail(await api.diagnostics(sandboxId, 'events').catch(() => ''));
}

function tail(text: string): string | null {
  const lines = text.trimEnd().split('\n').slice(-LOG_TAIL_LINES).join('\n').slice(-LOG_TAIL_CHARS);
  return lines === '' ? null : lines;
}
