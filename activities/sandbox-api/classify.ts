/**
 * Reads an answer that is not a success. Deployments give four shapes of errors (`{code,message,detail?}`,
 * `{detail:[…]}`, `{detail:"…"}`, HTML or nothing) and codes with or without a prefix. Pure.
 */

import {
  ConflictError,
  type ErrorFacts,
  KeyRejectedError,
  QuotaExceededError,
  RateLimitedError,
  RefusedError,
  type SandboxApiError,
  SandboxNotFoundError,
  StartFailedError,
  UnreachableError,
  UnsupportedError,
} from './errors.js';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Codes with which a create says that the sandbox did not start; after the prefix (`KUBERNETES::` …). */
const START_FAILURES =
  /^(POD_READY_TIMEOUT|POD_FAILED|SANDBOX_IMAGE_PULL_FAILED|IMAGE_PULL_FAILED|SANDBOX_START_FAILED|.*UNSCHEDULABLE.*)$/;

/** Longest text of an API that goes into a message. */
const MESSAGE_MAX_CHARS = 300;

export function classify(answer: Answer, route: string): SandboxApiError {
  const { status } = answer;
  const { code, text } = readError(answer.body);
  const said = [code, text].filter((part) => part !== null).join(': ');
  const facts: ErrorFacts = {
    message: `The sandbox API answered ${status} to ${route}${said === '' ? '' : ` (${said})`}.`,
    status,
    code,
    requestId: header(answer, 'x-request-id'),
    route,
  };
  const isCreate = route === 'POST /sandboxes';

  if (status === 429) return new RateLimitedError(facts, readRetryAfterMs(answer));
  if (code !== null && /QUOTA/.test(code)) return new QuotaExceededError(facts);
  if (status === 401 || status === 403) return new KeyRejectedError(facts);
  if (isCreate && code !== null && START_FAILURES.test(code))
    return new StartFailedError(facts, sandboxIdIn(text));
  if (status === 404 && code === 'SANDBOX_NOT_FOUND') return new SandboxNotFoundError(facts);
  if (status === 409) return new ConflictError(facts);
  if (status === 501) return new UnsupportedError(facts);
  if (status === 400 && code === 'INVALID_STATE') {
    return /not supported/i.test(text ?? '') ? new UnsupportedError(facts) : new ConflictError(facts);
  }
  // A 404 or 405 of the router or of a load balancer says nothing about a sandbox: the base URL is wrong, or nobody is home.
  if (status >= 500 || status === 404 || status === 405 || status === 408 || status < 400) {
    return new UnreachableError(facts, true);
  }
  return new RefusedError(facts);
}

/** The code without its prefix, and a text that may be shown. Never anything that the request contained. */
export function readError(body: string): { readonly code: string | null; readonly text: string | null } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return { code: null, text: null };
  }
  if (typeof parsed !== 'object' || parsed === null) return { code: null, text: null };
  const { code, message, detail } = parsed as Record<string, unknown>;
  return {
    code: typeof code === 'string' ? (code.split('::').at(-1) ?? code) : null,
    text: shorten(typeof message === 'string' ? message : readDetail(detail)),
  };
}

/** Of a validation error only where and what: its `input` echoes the request, environment included. */
function readDetail(detail: unknown): string | null {
  if (typeof detail === 'string') return detail;
  if (!Array.isArray(detail)) return null;
  const problems = detail.map((entry: { loc?: unknown; msg?: unknown }) => {
    const where = Array.isArray(entry?.loc) ? entry.loc.join('.') : '';
    return `${where}: ${typeof entry?.msg === 'string' ? entry.msg : 'refused'}`;
  });
  return problems.join('; ');
}

function shorten(text: string | null): string | null {
  if (text === null || text.trim() === '') return null;
  return text.length <= MESSAGE_MAX_CHARS ? text : `${text.slice(0, MESSAGE_MAX_CHARS - 1)}…`;
}

function sandboxIdIn(text: string | null): string | null {
  return /sandbox ([A-Za-z0-9][A-Za-z0-9._-]*)/i.exec(text ?? '')?.[1] ?? null;
}

/** `Retry-After` in seconds, or as a date beside the answer's own `Date`; `null` for nonsense. RFC 9110, 10.2.3. */
export function readRetryAfterMs(answer: Pick<Answer, 'headers'>): number | null {
  const value = header(answer, 'retry-after')?.trim();
  if (value === undefined) return null;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  if (!/[A-Za-z]{3}/.test(value)) return null;
  const until = Date.parse(value);
  const sent = Date.parse(header(answer, 'date') ?? '');
  const waitMs = until - (Number.isNaN(sent) ? Date.now() : sent);
  return Number.isNaN(until) || waitMs < 0 ? null : waitMs;
}

function header({ headers }: Pick<Answer, 'headers'>, name: string): string | null {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}
