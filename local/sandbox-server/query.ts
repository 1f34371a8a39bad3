/** Path and query of a request, read without resolving `..` or `%2F`: a proxied path belongs to the agent. */

import { ApiError, RequestShapeError } from './errors.js';

export interface IntegerRange {
  readonly min: number;
  readonly max?: number;
  readonly default: number;
}

export class Query {
  readonly #params: URLSearchParams;

  constructor(text: string) {
    this.#params = new URLSearchParams(text);
  }

  /** Of a name that is given twice, the last one counts. */
  last(name: string): string | null {
    return this.#params.getAll(name).at(-1) ?? null;
  }

  /** @throws RequestShapeError 422 for what is no truth value in pydantic's eyes. */
  boolean(name: string): boolean {
    const text = this.last(name);
    if (text === null || /^(0|off|f|false|n|no)$/i.test(text)) return false;
    if (/^(1|on|t|true|y|yes)$/i.test(text)) return true;
    const msg = 'Input should be a valid boolean, unable to interpret input';
    throw new RequestShapeError([{ type: 'bool_parsing', loc: ['query', name], msg }]);
  }

  all(name: string): string[] {
    return this.#params.getAll(name);
  }

  /** @throws RequestShapeError 422 for anything but an integer in the range. */
  integer(name: string, range: IntegerRange): number {
    const text = this.last(name);
    if (text === null) return range.default;
    const value = parseInteger(text, ['query', name]);
    const { min, max = Number.MAX_SAFE_INTEGER } = range;
    if (value < min) throw outOfRange(name, 'greater_than_equal', `greater than or equal to ${min}`);
    if (value > max) throw outOfRange(name, 'less_than_equal', `less than or equal to ${max}`);
    return value;
  }
}

/** @throws RequestShapeError 422 for no integer, ApiError 400 for one that is no port. */
export function parsePort(text: string): number {
  const port = parseInteger(text, ['path', 'port']);
  if (port >= 1 && port <= 65_535) return port;
  throw new ApiError(400, 'LOCAL::INVALID_PORT', 'Port must be between 1 and 65535.');
}

function parseInteger(text: string, loc: readonly string[]): number {
  if (/^-?\d{1,15}$/.test(text)) return Number(text);
  const msg = 'Input should be a valid integer, unable to parse string as an integer';
  throw new RequestShapeError([{ type: 'int_parsing', loc, msg }]);
}

function outOfRange(name: string, type: string, what: string): RequestShapeError {
  return new RequestShapeError([{ type, loc: ['query', name], msg: `Input should be ${what}` }]);
}
