/** How diagnostics are asked for, and what is shown of them. */

import { z } from 'zod';
import type { RawAnswer } from './transport.js';

export type DiagnosticsKind = 'logs' | 'events' | 'inspect';

/** What is read of a log to find its end, beyond what is given back: the end of JSON alone means nothing. */
export const DIAGNOSTICS_MAX_BYTES = 4 * 1024 * 1024;
const SHOWN_MAX_CHARS = 256 * 1024;

/** With a scope servers give JSON, and without one plain text, which is deprecated. */
const SCOPES = { logs: 'scope=container', events: 'scope=runtime', inspect: null };
const envelope = z.object({ content: z.string() });

/** Queries to be tried in this order: servers exist that know only one of the two forms. */
export function diagnosticsQueries(kind: DiagnosticsKind, tailLines: number | undefined): string[] {
  const tail = kind === 'logs' && tailLines !== undefined ? [`tail=${tailLines}`] : [];
  const scope = SCOPES[kind];
  const plain = tail.length === 0 ? '' : `?${tail}`;
  return scope === null ? [plain] : [`?${[scope, ...tail].join('&')}`, plain];
}

/** What servers say that do not know this scope (400, 422), or no scopes at all (501). */
export function isScopeUnknown({ status }: RawAnswer): boolean {
  return status === 400 || status === 422 || status === 501;
}

/** The last lines; not every server keeps to `tail`. `undefined` where the answer is a page for people. */
export function diagnosticsText(
  { headers, body }: RawAnswer,
  tailLines: number | undefined,
): string | undefined {
  if (/^text\/html/i.test(String(headers['content-type'] ?? ''))) return undefined;
  const text = contentOf(body.toString('utf8'));
  const lines = text.replace(/\n$/, '').split('\n');
  return (tailLines === undefined ? text : lines.slice(-tailLines).join('\n')).slice(-SHOWN_MAX_CHARS);
}

function contentOf(text: string): string {
  try {
    return envelope.safeParse(JSON.parse(text)).data?.content ?? text;
  } catch {
    return text;
  }
}
