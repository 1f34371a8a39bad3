/** What an error body says, fit to be shown: short, without control characters, without what was sent. Pure. */

import { conceal } from './conceal.js';

export interface ErrorBody {
  /** Without its prefix (`KUBERNETES::` …). */
  readonly code: string | null;
  readonly text: string | null;
}

/** Longest text of an API that goes into a message. */
const TEXT_MAX_CHARS = 300;
/** Whatever is longer is no code. */
const CODE_MAX_CHARS = 100;
/** Problems of a validation error that are named. */
const MAX_PROBLEMS = 10;

/** @param secrets are taken out, wherever the server echoes them. */
export function readErrorBody(body: string, secrets: readonly string[]): ErrorBody {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return { code: null, text: null };
  }
  if (typeof parsed !== 'object' || parsed === null) return { code: null, text: null };
  const { code, message, detail } = parsed as Record<string, unknown>;
  const said = [message, readDetail(detail)].filter((part) => typeof part === 'string' && part.trim() !== '');
  const text = presentable(conceal([...new Set(said)].join(' – '), secrets));
  return { code: readCode(code), text: text === '' ? null : text };
}

function readCode(code: unknown): string | null {
  if (typeof code !== 'string' || code.length > CODE_MAX_CHARS) return null;
  return presentable(code.split('::').at(-1) ?? code) || null;
}

/** Of a validation error only where and what: its `input` echoes the request, environment included. */
function readDetail(detail: unknown): string | null {
  if (typeof detail === 'string') return detail;
  if (!Array.isArray(detail)) return null;
  const problems = detail.slice(0, MAX_PROBLEMS).map((entry: { loc?: unknown; msg?: unknown } | null) => {
    const where = Array.isArray(entry?.loc) ? entry.loc.filter(isPathPart).join('.') : '';
    return `${where === '' ? 'the request' : where}: ${typeof entry?.msg === 'string' ? entry.msg : 'refused'}`;
  });
  return problems.join('; ');
}

function isPathPart(part: unknown): part is string | number {
  return typeof part === 'string' || typeof part === 'number';
}

function presentable(text: string): string {
  const line = text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length <= TEXT_MAX_CHARS ? line : `${line.slice(0, TEXT_MAX_CHARS - 1)}…`;
}
