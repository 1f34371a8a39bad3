/** What went wrong at the sandbox API, named by what a caller can do about it. */

export interface ErrorFacts {
  readonly message: string;
  /** HTTP status; `null` where there was no answer. */
  readonly status: number | null;
  /** The API's code after the last `::`, e.g. `SANDBOX_NOT_FOUND`. */
  readonly code: string | null;
  /** `X-Request-ID` of the exchange, for a search in the server's logs; `null` where none is known. */
  readonly requestId: string | null;
  /** Method and path pattern, e.g. `POST /sandboxes/{id}/pause`. */
  readonly route: string;
}

export class SandboxApiError extends Error {
  override readonly name: string = 'SandboxApiError';
  readonly status: number | null;
  readonly code: string | null;
  readonly requestId: string | null;
  readonly route: string;

  constructor(facts: ErrorFacts) {
    super(facts.message);
    this.status = facts.status;
    this.code = facts.code;
    this.requestId = facts.requestId;
    this.route = facts.route;
  }
}

/** Nobody answered, or with something that no API server says. Worth another try; proves nothing. */
export class UnreachableError extends SandboxApiError {
  override readonly name = 'UnreachableError';
  /** The request may have been carried out all the same: it was sent, and the answer does not say. */
  readonly ambiguous: boolean;

  constructor(facts: ErrorFacts, ambiguous: boolean) {
    super(facts);
    this.ambiguous = ambiguous;
  }
}

/** 429: come back later. */
export class RateLimitedError extends SandboxApiError {
  override readonly name = 'RateLimitedError';
  /** How long the API asked to wait; `null` where it did not, or not in a way that makes sense. */
  readonly retryAfterMs: number | null;

  constructor(facts: ErrorFacts, retryAfterMs: number | null) {
    super(facts);
    this.retryAfterMs = retryAfterMs;
  }
}

/** 401 or 403: no retry can succeed until somebody has changed the key. */
export class KeyRejectedError extends SandboxApiError {
  override readonly name = 'KeyRejectedError';
}

/** No retry can succeed until somebody has raised the quota or freed some of it. */
export class QuotaExceededError extends SandboxApiError {
  override readonly name = 'QuotaExceededError';
}

/** The request itself is not acceptable; repeating it is useless. */
export class RefusedError extends SandboxApiError {
  override readonly name = 'RefusedError';
}

/** 409: the sandbox is not in a state for this. Look at it, and decide again. */
export class ConflictError extends SandboxApiError {
  override readonly name = 'ConflictError';
}

/** 404 with the code `SANDBOX_NOT_FOUND`: the lifecycle API has no such sandbox. */
export class SandboxNotFoundError extends SandboxApiError {
  override readonly name = 'SandboxNotFoundError';
}

/** This deployment cannot do that at all. */
export class UnsupportedError extends SandboxApiError {
  override readonly name = 'UnsupportedError';
}

/** A create was answered: the sandbox did not start. */
export class StartFailedError extends SandboxApiError {
  override readonly name = 'StartFailedError';
  /** The ID that the message names: the server may not have cleaned it up. */
  readonly sandboxIdHint: string | null;

  constructor(facts: ErrorFacts, sandboxIdHint: string | null) {
    super(facts);
    this.sandboxIdHint = sandboxIdHint;
  }
}
