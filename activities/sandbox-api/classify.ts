/**
 * Reads an answer that is not a success. Deployments give four shapes of errors (`{code,message,detail?}`,
 * `{detail:[…]}`, `{detail:"…"}`, HTML or nothing) and codes with or without a prefix. Pure.
 */

import { readErrorBody } from './error-body.js';
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
  /^(POD_READY_TIMEOUT|POD_FAILED|(SANDBOX_)?IMAGE_PULL_FAILED|SANDBOX_((EXECD_)?START|EXECD_DISTRIBUTION|BOOTSTRAP_INSTALL)_FAILED|.*UNSCHEDULABLE.*)$/;

/**
 * @param nowMs the time, for a `Retry-After` that is a date on an answer that has none.
 * @param secrets what was sent in confidence and must not come back in a message.
 */
export function classify(
  answer: Answer,
  route: string,
  nowMs: number,
  secrets: readonly string[] = [],
): SandboxApiError {
  const { status } = answer;
  const { code, text } = readErrorBody(answer.body, secrets);
  const said = [code, text].filter((part) => part !== null).join(': ');
  const facts: ErrorFacts = {
    message: `The sandbox API answered ${status} to ${route} (${said || formOf(answer)}).`,
    status,
    code,
    requestId: header(answer, 'x-request-id'),
    route,
  };

  if (status === 429) return new RateLimitedError(facts, readRetryAfterMs(answer, nowMs));
  if (code !== null && /QUOTA/.test(code)) return new QuotaExceededError(facts);
  if (status === 401 || status === 403) return new KeyRejectedError(facts);
  if (route === 'POST /sandboxes' && saysNotStarted(code, text)) {
    return new StartFailedError(facts, sandboxIdIn(text));
  }
  if (status === 404 && code === 'SANDBOX_NOT_FOUND') return new SandboxNotFoundError(facts);
  if (status === 409) return new ConflictError(facts);
  if (status === 501 || (status === 400 && code === 'API_NOT_SUPPORTED')) return new UnsupportedError(facts);
  if (status === 400 && code === 'INVALID_STATE') {
    return /not supported/i.test(text ?? '') ? new UnsupportedError(facts) : new ConflictError(facts);
  }
  // A 404 or 405 of a router or of a load balancer says nothing about a sandbox: the base URL is wrong, or
  // nobody is home. But it says that nothing was done.
  if (status === 404 || status === 405) return new UnreachableError(facts, false);
  if (status >= 500 || status === 408 || status < 400) return new UnreachableError(facts, true);
  return new RefusedError(facts);
}

/** The Kubernetes runtime reports a pod that fits on no node with a code for bad parameters: its words decide. */
function saysNotStarted(code: string | null, text: string | null): boolean {
  if (code === null) return false;
  return START_FAILURES.test(code) || (code === 'INVALID_PARAMETER' && /is unschedulable/i.test(text ?? ''));
}

/** `Sandbox 0b0de4c6-… is unschedulable`; but not `sandbox container`: an ID has a digit. */
function sandboxIdIn(text: string | null): string | null {
  const named = (text ?? '').matchAll(/\bsandbox ['"]?([A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9])/gi);
  return [...named].map((match) => match[1] ?? '').find((id) => /\d/.test(id)) ?? null;
}

function formOf(answer: Answer): string {
  const isHtml = /^text\/html/i.test(header(answer, 'content-type') ?? '') || /^\s*</.test(answer.body);
  return isHtml ? 'HTML, no code' : 'no code';
}

/** The form that RFC 9110, 5.6.7 prescribes; `Date.parse` alone takes nearly any words for a date. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * `Retry-After` in seconds, or as a date beside the answer's own `Date` (RFC 9110, 10.2.3).
 * @returns `null` for nonsense and for no wait at all, so that nobody retries in a hot loop.
 */
export function readRetryAfterMs(answer: Pick<Answer, 'headers'>, nowMs: number): number | null {
  const value = header(answer, 'retry-after')?.trim() ?? '';
  const waitMs = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : untilMs(value);
  return waitMs > 0 ? waitMs : null;

  function untilMs(date: string): number {
    if (!HTTP_DATE.test(date)) return Number.NaN;
    const sentMs = Date.parse(header(answer, 'date') ?? '');
    return Date.parse(date) - (Number.isNaN(sentMs) ? nowMs : sentMs);
  }
}

function header({ headers }: Pick<Answer, 'headers'>, name: string): string | null {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}
