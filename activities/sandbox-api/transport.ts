/** One HTTP exchange with the API: time limits, request IDs, and network errors in words. */

import { randomUUID } from 'node:crypto';
import { Agent, FormData, request } from 'undici';
import { UnreachableError } from './errors.js';
import { type Overflow, readBody } from './read-body.js';

export interface Exchange {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Path and query behind the base URL, already encoded. */
  readonly path: string;
  /** The path as a pattern, for messages. */
  readonly pattern: string;
  /** Sent as JSON, unless it is a form. */
  readonly body?: unknown;
  /** Besides the usual ones. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For the whole exchange: waiting for a connection, headers, body, and a repetition. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly overflow: Overflow;
  /** Whose slowness it shares: that of the API server itself, or that of agents behind its proxy. */
  readonly lane: 'api' | 'agents';
  readonly signal?: AbortSignal | undefined;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  /** The body was longer than `maxBytes`: at least so long. */
  readonly exceededBytes: number | null;
  /** As the server named it, or else as it was sent. */
  readonly requestId: string;
}

/** No connection came about, so nothing can have been done. */
const NEVER_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'];
/** A pooled connection that the peer had closed meanwhile. */
const STALE_SOCKET = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'];

/** Shorter than the 5 s after which the usual server closes an idle connection. */
const KEEP_ALIVE_MS = 4000;

export class Transport {
  readonly #baseUrl: string;
  readonly #apiKey: string;
  /**
   * Connections for thousands of watches, each with a request of milliseconds now and then. Apart from those
   * of lifecycle calls: agents that hang hold theirs until the time limit, and no pause may wait behind them.
   */
  readonly #lanes = {
    api: new Agent({ connections: 64, keepAliveTimeout: KEEP_ALIVE_MS }),
    agents: new Agent({ connections: 128, keepAliveTimeout: KEEP_ALIVE_MS }),
  };

  /** @throws TypeError when the key cannot be sent. */
  constructor(apiUrl: string, apiKey: string) {
    if (!/^[\x21-\x7e]+$/.test(apiKey)) {
      throw new TypeError(
        'The API key of the sandbox API is empty or has spaces, line ends or other characters that no HTTP header can carry.',
      );
    }
    this.#baseUrl = apiUrl.replace(/\/+$/, '');
    this.#apiKey = apiKey;
  }

  /** @throws UnreachableError, or the reason of the signal as it is. */
  async exchange(exchange: Exchange): Promise<RawAnswer> {
    const { method, timeoutMs, signal } = exchange;
    const requestId = randomUUID();
    const limit = limitTime(timeoutMs, signal);
    try {
      return await this.#attempt(exchange, requestId, limit.signal).catch((error) => {
        // A GET may be repeated without harm; a POST may have been carried out, which its caller must find out.
        if (method !== 'GET' || !STALE_SOCKET.includes(codeOf(error))) throw error;
        return this.#attempt(exchange, requestId, limit.signal);
      });
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      const code = codeOf(error);
      const why = limit.isOver() ? `no answer within ${timeoutMs / 1000} s` : code || 'the connection broke';
      const route = `${method} ${exchange.pattern}`;
      throw new UnreachableError(
        {
          message: `The sandbox API did not answer ${route} (${why}).`,
          status: null,
          code: null,
          requestId,
          route,
        },
        !NEVER_SENT.includes(code),
      );
    } finally {
      limit.release();
    }
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#lanes).map((agent) => agent.destroy()));
  }

  async #attempt(exchange: Exchange, requestId: string, signal: AbortSignal): Promise<RawAnswer> {
    const { method, path, body, headers: extraHeaders, maxBytes, overflow, lane } = exchange;
    const response = await request(`${this.#baseUrl}${path}`, {
      dispatcher: this.#lanes[lane],
      method,
      headers: {
        'open-sandbox-api-key': this.#apiKey,
        'x-request-id': requestId,
        accept: 'application/json, */*',
        'accept-encoding': 'identity',
        // A form brings its own, with its boundary.
        ...(body === undefined || body instanceof FormData ? {} : { 'content-type': 'application/json' }),
        ...extraHeaders,
      },
      body: body === undefined ? null : body instanceof FormData ? body : JSON.stringify(body),
      signal,
      // The signal limits both, and to the millisecond.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const { statusCode: status, headers } = response;
    const echoed = headers['x-request-id'];
    return {
      status,
      headers,
      requestId: typeof echoed === 'string' ? echoed : requestId,
      ...(await readBody(response, maxBytes, overflow)),
    };
  }
}

/**
 * A signal that ends with the time or with `signal`, whichever is first.
 * Not by `AbortSignal.any`: every signal made by it stays registered with its source, and the source here
 * is an activity's that lives for hours and thousands of requests (measured: 76 bytes each, never freed).
 */
function limitTime(timeoutMs: number, signal: AbortSignal | undefined) {
  const controller = new AbortController();
  let over = false;
  const follow = () => controller.abort(signal?.reason);
  const timer = setTimeout(() => {
    over = true;
    controller.abort();
  }, timeoutMs);
  if (signal?.aborted) follow();
  else signal?.addEventListener('abort', follow, { once: true });
  return {
    signal: controller.signal,
    isOver: () => over,
    release() {
      clearTimeout(timer);
      signal?.removeEventListener('abort', follow);
    },
  };
}

/** The network's code; connection attempts to several addresses hide it in an AggregateError. */
function codeOf(error: unknown): string {
  const { code, errors, cause } = error as { code?: unknown; errors?: unknown[]; cause?: unknown };
  if (typeof code === 'string') return code;
  if (Array.isArray(errors) && errors.length > 0) return codeOf(errors[0]);
  return cause === undefined || cause === null ? '' : codeOf(cause);
}
