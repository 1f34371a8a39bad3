/** Reads bodies of JSON as execd does: any content type, unknown fields are no error, `null` is as good as missing. */

import type { IncomingMessage } from 'node:http';
import { ApiError } from '../errors.js';

/** A command or a replacement may be long; files are uploaded otherwise. */
const MAX_BODY_BYTES = 16 * 2 ** 20;

export async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  if (sizeBytes > MAX_BODY_BYTES) {
    throw invalid(`error parsing request. the body is larger than ${MAX_BODY_BYTES} bytes`);
  }
  return Buffer.concat(chunks).toString('utf8');
}

export function invalid(message: string): ApiError {
  return new ApiError(400, 'INVALID_REQUEST_BODY', message);
}

export function missingQuery(name: string): ApiError {
  return new ApiError(400, 'MISSING_QUERY', `missing query parameter '${name}'`);
}

/** One JSON object, or list of objects, whose fields are asked for by their types. */
export class Fields {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #what: string;
  readonly #prefix: string;

  /** @param what the name of the type in messages. @param prefix of the messages. */
  constructor(value: unknown, what: string, prefix: string) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw invalid(`${prefix}json: cannot unmarshal ${kindOf(value)} into Go value of type ${what}`);
    }
    this.#values = value as Record<string, unknown>;
    this.#what = what;
    this.#prefix = prefix;
  }

  string(name: string): string {
    return this.#read(name, 'string', (value) => typeof value === 'string') ?? '';
  }

  boolean(name: string): boolean {
    return this.#read(name, 'bool', (value) => typeof value === 'boolean') ?? false;
  }

  /** `null`: not given. */
  integer(name: string, type: 'int' | 'int64' | 'uint32'): number | null {
    const fits = (value: unknown) => Number.isSafeInteger(value) && (type !== 'uint32' || Number(value) >= 0);
    return this.#read(name, type, fits) ?? null;
  }

  strings(name: string): Readonly<Record<string, string>> {
    const isObject = (value: unknown) => typeof value === 'object' && !Array.isArray(value);
    const given = this.#read<Record<string, unknown>>(name, 'map[string]string', isObject) ?? {};
    const inner = new Fields(given, `${this.#what}.${name}`, this.#prefix);
    return Object.fromEntries(Object.keys(given).map((key) => [key, inner.string(key)]));
  }

  /** Each value as an object of its own, by its key. */
  each(what: string): [string, Fields][] {
    return Object.entries(this.#values).map(([key, value]) => [
      key,
      new Fields(value ?? {}, what, this.#prefix),
    ]);
  }

  #read<T>(name: string, type: string, fits: (value: unknown) => boolean): T | undefined {
    const value = this.#values[name];
    if (value === undefined || value === null) return undefined;
    if (fits(value)) return value as T;
    const field = `${this.#what}.${name}`;
    throw invalid(
      `${this.#prefix}json: cannot unmarshal ${kindOf(value)} into Go struct field ${field} of type ${type}`,
    );
  }
}

/** @throws ApiError 400 when it is no JSON. */
export function parseJson(text: string, prefix: string): unknown {
  if (text.trim() === '') throw invalid(`${prefix}EOF`);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalid(`${prefix}${(error as Error).message}`);
  }
}

export const PARSING = 'error parsing request, MAYBE invalid body format. ';

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}
