/** What `diagnostics/{logs|events|inspect}` answer. */

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { ApiError } from './errors.js';
import { describeLimits } from './limits.js';
import type { Query } from './query.js';
import type { SandboxRecord } from './record.js';
import { logFile } from './runner.js';
import type { Sandboxes } from './sandboxes.js';

/** The end of a log of any size. */
const MAX_LOG_BYTES = 2 ** 20;
/** As upstream. */
const DEFAULT_TAIL_LINES = 100;
const MAX_TAIL_LINES = 10_000;
const SCOPES: Record<string, readonly string[]> = {
  logs: ['container', 'all'],
  events: ['runtime', 'all'],
};

export interface DiagnosticsAnswer {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Plain text as ever, or JSON for those who name a scope.
 * @returns `null` for a kind that does not exist.
 * @throws ApiError 400 for an unknown scope, RequestShapeError 422 for a bad `tail`.
 */
export function diagnostics(
  sandboxes: Sandboxes,
  record: SandboxRecord,
  kind: string,
  query: Query,
): DiagnosticsAnswer | null {
  if (kind === 'inspect') return plainText(inspect(sandboxes, record), {});
  if (kind === 'summary') return plainText(summary(sandboxes, record, query), {});
  const scopes = SCOPES[kind];
  if (scopes === undefined) return null;
  const tail = query.integer('tail', { min: 1, max: MAX_TAIL_LINES, default: DEFAULT_TAIL_LINES });
  const scope = query.last('scope');
  if (scope !== null && !scopes.includes(scope)) {
    throw new ApiError(
      400,
      'DIAGNOSTICS_SCOPE_UNSUPPORTED',
      `Unsupported ${kind} diagnostics scope '${scope}'. Supported scopes: ${scopes.join(', ')}.`,
    );
  }
  const { text, truncated } =
    kind === 'logs'
      ? readLog(logFile(sandboxes.steps.placeOf(record)), tail)
      : { text: events(record), truncated: false };
  if (scope === null) return plainText(text, { deprecation: 'true' });
  const content = {
    sandboxId: record.id,
    kind,
    scope,
    delivery: 'inline',
    contentType: 'text/plain; charset=utf-8',
    content: text,
    contentLength: Buffer.byteLength(text),
    truncated,
  };
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(content) };
}

/** All three in one, as upstream has it for people. */
function summary(sandboxes: Sandboxes, record: SandboxRecord, query: Query): string {
  const tail = query.integer('tail', { min: 1, max: MAX_TAIL_LINES, default: DEFAULT_TAIL_LINES });
  const parts: [string, string][] = [
    ['INSPECT', inspect(sandboxes, record)],
    ['EVENTS', events(record)],
    ['LOGS', readLog(logFile(sandboxes.steps.placeOf(record)), tail).text],
  ];
  return parts.map(([title, text]) => `=== ${title} ===\n${text}`).join('\n\n');
}

function plainText(body: string, headers: Record<string, string>): DiagnosticsAnswer {
  return { headers: { ...headers, 'content-type': 'text/plain; charset=utf-8' }, body };
}

function readLog(file: string, tailLines: number): { text: string; truncated: boolean } {
  const log = openSync(file, 'r');
  try {
    const sizeBytes = fstatSync(log).size;
    const buffer = Buffer.alloc(Math.min(sizeBytes, MAX_LOG_BYTES));
    const readBytes = readSync(log, buffer, 0, buffer.length, sizeBytes - buffer.length);
    const lines = buffer
      .subarray(0, readBytes)
      .toString('utf8')
      .split(/(?<=\n)/);
    const text = lines.slice(-tailLines).join('');
    return { text: text || '(no logs)', truncated: sizeBytes > MAX_LOG_BYTES || lines.length > tailLines };
  } finally {
    closeSync(log);
  }
}

function events({ id, state, createdAt, events }: SandboxRecord): string {
  return [
    `Sandbox:    ${id}`,
    `Status:     ${state}`,
    `Created:    ${createdAt}`,
    ...events.map(({ at, reason, message }) => `Event:      ${at} ${reason}: ${message}`),
  ].join('\n');
}

function inspect({ steps: { machine } }: Sandboxes, record: SandboxRecord): string {
  const { spec } = record;
  const indented = (lines: readonly string[]) => lines.map((line) => `  ${line}`);
  return [
    `Sandbox ID:     ${record.id}`,
    `Image:          ${spec.image.uri}`,
    `Status:         ${record.state} (${record.reason})`,
    `Exit Code:      ${record.exitCode ?? '-'}`,
    `OOMKilled:      ${record.reason === 'OOMKilled'}`,
    `Starts:         ${record.starts}`,
    `Process:        ${record.init?.pid ?? record.outer?.pid ?? '-'}`,
    `Host User:      ${record.uid ?? 'that of the server'}`,
    `Back End:       ${machine.backend.name}${machine.backend.isolated ? '' : ' (NO ISOLATION)'}`,
    `Workspace:      ${spec.persistent ? 'kept over a pause' : 'emptied by a pause'}`,
    '',
    'Resources:',
    ...indented(describeLimits(machine.cgroups, machine.backend, spec.limits)),
    '',
    'Labels:',
    ...indented(Object.entries(spec.metadata).map(([key, value]) => `${key}=${value}`)),
    '',
    'Environment (names):',
    ...indented([...Object.keys(spec.env), 'OPENSANDBOX_ID']),
  ].join('\n');
}
