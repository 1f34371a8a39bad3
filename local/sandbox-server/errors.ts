/**
 * What the API answers when it refuses: the shapes and codes that a real OpenSandbox server was
 * recorded to use. Codes of the runtime carry the prefix `LOCAL::`, as others carry `DOCKER::`.
 */

/** An answer `{code, message, detail?}` with its HTTP status. */
export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly detail?: string,
  ) {
    super(message);
  }
}

/** One entry of a 422 answer. The refused value is left out on purpose: it may hold secrets. */
export interface FieldIssue {
  readonly type: string;
  readonly loc: readonly (string | number)[];
  readonly msg: string;
}

/** An answer 422 `{detail: [...]}`: the request does not have the documented shape. */
export class RequestShapeError extends Error {
  override readonly name = 'RequestShapeError';

  constructor(readonly issues: readonly FieldIssue[]) {
    super(issues.map((issue) => `${issue.loc.join('.')}: ${issue.msg}`).join('; '));
  }
}

/** An answer `{detail: "..."}`: no such route, or not with this method. */
export class RouteError extends Error {
  override readonly name = 'RouteError';

  constructor(
    readonly status: number,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

export function sandboxNotFound(id: string): ApiError {
  return new ApiError(404, 'LOCAL::SANDBOX_NOT_FOUND', `Sandbox ${id} not found.`);
}

/** A pause, resume or delete that does not fit the state. */
export function wrongState(code: string, message: string): ApiError {
  return new ApiError(409, `LOCAL::${code}`, message);
}
