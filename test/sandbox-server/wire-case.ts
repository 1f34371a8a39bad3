/** How a recorded request and its answer are written down. */

export interface WireAnswer {
  readonly status: number;
  /** Of `{code, message}`, without its prefix. */
  readonly code?: string;
  /** Of `{detail: "..."}`. */
  readonly detail?: string;
  /** Of `{detail: [{type, loc}]}`: the type, and the place joined by dots. */
  readonly issue?: readonly [type: string, loc: string];
  /** All keys of a JSON object. */
  readonly keys?: string;
  readonly state?: string;
  readonly text?: RegExp;
  readonly headers?: Readonly<Record<string, string | RegExp>>;
}

export interface WireCase {
  readonly name: string;
  readonly method: string;
  /** `{a}` stands for the ID that was saved under this name. */
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly keyless?: true;
  /** What the real server was recorded to answer. */
  readonly recorded: WireAnswer;
  /** What this one answers instead, on purpose. */
  readonly here?: WireAnswer;
  readonly because?: string;
  /** Saves the `id` of the answer under this name. */
  readonly saves?: string;
  /** The state to wait for in the saved sandbox before the next case. */
  readonly until?: readonly [id: string, state: string];
}

type More = Omit<WireCase, 'name' | 'method' | 'path' | 'recorded'>;

/** @param request `METHOD /path` */
export function recorded(name: string, request: string, answer: WireAnswer, more: More = {}): WireCase {
  const [method = '', path = ''] = request.split(' ');
  return { name, method, path, recorded: answer, ...more };
}

export const MISSING = { status: 401, code: 'MISSING_API_KEY' };
export const NOT_FOUND = { status: 404, code: 'SANDBOX_NOT_FOUND' };
export const UNKNOWN = '00000000-0000-4000-8000-000000000000';
