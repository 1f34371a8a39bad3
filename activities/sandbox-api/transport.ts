/** One HTTP exchange with the API: time limits, caps, request IDs, and network errors in words. */

import { randomUUID } from 'node:crypto';
import { Agent, type Dispatcher, request } from 'undici';
import { UnreachableError } from './errors.js';

export interface Exchange {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Path and query behind the base URL, already encoded. */
  readonly path: string;
  /** The path as a pattern, for messages and metrics. */
  readonly pattern: string;
  readonly body?: unknown;
  readonly timeoutMs: number;
  /** Longer bodies are not read to their end. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  /** The body was longer than `maxBytes`: at least so long. */
  readonly exceededBytes: number | null;
}

/** Nothing has left this machine, so nothing can have been done. */
const NEVER_SENT = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
];
/** A pooled connection that the peer had closed meanwhile. */
const STALE_SOCKET = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'];

export class Transport {
  readonly #baseUrl: string;
  readonly #apiKey: string;
  /** Enough for thousands of watches, each with a request of milliseconds now and then. */
  readonly #agent = new Agent({ connections: 128, keepAliveTimeout: 4000, pipelining: 1 });

  constructor(apiUrl: string, apiKey: string) {
    this.#baseUrl = apiUrl.replace(/\/+$/, '');
    this.#apiKey = apiKey;
  }

  /** @throws UnreachableError, or the reason of the signal as it is. */
  async exchange(exchange: Exchange): Promise<RawAnswer> {
    try {
      return await this.#once(exchange);
    } catch (error) {
      // A GET may be repeated without harm; a POST may have been carried out, which its caller must find out.
      if (exchange.method !== 'GET' || !STALE_SOCKET.includes(codeOf(error)))
        throw this.#explain(error, exchange);
      return await this.#once(exchange).catch((again) => {
        throw this.#explain(again, exchange);
      });
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #once({ method, path, body, timeoutMs, maxBytes, signal }: Exchange): Promise<RawAnswer> {
    const limit = AbortSignal.timeout(timeoutMs);
    const response = await request(`${this.#baseUrl}${path}`, {
      dispatcher: this.#agent,
      method,
      headers: {
        'open-sandbox-api-key': this.#apiKey,
        'x-request-id': randomUUID(),
        accept: 'application/json',
        'accept-encoding': 'identity',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
      // The one limit above covers both.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    return readCapped(response, maxBytes);
  }

  #explain(error: unknown, { method, pattern, timeoutMs, signal }: Exchange): unknown {
    if (signal?.aborted) return signal.reason;
    const code = codeOf(error);
    const route = `${method} ${pattern}`;
    const why = isTimeout(error) ? `no answer within ${timeoutMs / 1000} s` : code || 'the connection broke';
    return new UnreachableError(
      {
        message: `The sandbox API did not answer ${route} (${why}).`,
        status: null,
        code: null,
        requestId: null,
        route,
      },
      !NEVER_SENT.includes(code),
    );
  }
}

async function readCapped(response: Dispatcher.ResponseData, maxBytes: number): Promise<RawAnswer> {
  const { statusCode: status, headers } = response;
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of response.body) {
    sizeBytes += (chunk as Buffer).byteLength;
    // Leaving the loop destroys the body, and with it the connection.
    if (sizeBytes > maxBytes) {
      const declaredBytes = Number(headers['content-length']);
      return {
        status,
        headers,
        body: Buffer.alloc(0),
        exceededBytes: Math.max(sizeBytes, declaredBytes || 0),
      };
    }
    chunks.push(chunk as Buffer);
  }
  return { status, headers, body: Buffer.concat(chunks), exceededBytes: null };
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError';
}

/** The network's code; connection attempts to several addresses hide it in an AggregateError. */
function codeOf(error: unknown): string {
  const { code, errors, cause } = error as { code?: unknown; errors?: unknown[]; cause?: unknown };
  if (typeof code === 'string') return code;
  if (Array.isArray(errors) && errors.length > 0) return codeOf(errors[0]);
  return cause === undefined || cause === null ? '' : codeOf(cause);
}
