/** One request to execd, the data plane inside a sandbox: streams both ways, and errors by what can be done about them. */

import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { Agent, type Dispatcher, request } from 'undici';
import { classify } from './classify.js';
import { ConflictError, RefusedError, type SandboxApiError, UnreachableError } from './errors.js';
import { encodeProxyPath } from './proxy.js';
import { ERROR_MAX_BYTES, readBody } from './read-body.js';

/** Where execd listens in every sandbox. */
const EXECD_PORT = 44_772;
/** Shorter than the 5 s after which the usual server closes an idle connection. */
const KEEP_ALIVE_MS = 4000;

export interface DataPlaneOptions {
  /** Taken as given: `/v1` is part of it or not, as the deployment says. */
  readonly apiUrl: string;
  readonly apiKey: string;
  /** Faster for large files than the API's own proxy; `null`: by that proxy. */
  readonly gatewayUrl?: string | null;
  /** How long nothing may come or go before an exchange counts as broken; default: 30 s. Commands say something every 3 s. */
  readonly idleTimeoutMs?: number;
}

export interface DataPlaneRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Path and query, already encoded. */
  readonly path: string;
  /** The path as a pattern, for messages. */
  readonly pattern: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Readable;
  readonly signal?: AbortSignal | undefined;
}

export interface DataPlaneAnswer {
  /** Its body must be read or destroyed: an open one holds a connection. */
  readonly response: Dispatcher.ResponseData;
  readonly requestId: string;
}

const IDLE_TIMEOUT_MS = 30_000;

export class DataPlaneConnection {
  readonly #options: DataPlaneOptions;
  readonly #agent: Agent;

  /** @throws TypeError when the key cannot be sent. */
  constructor(options: DataPlaneOptions) {
    if (!/^[\x21-\x7e]+$/.test(options.apiKey)) {
      throw new TypeError('The API key of the sandbox API is empty, or no HTTP header can carry it.');
    }
    this.#options = options;
    const idleMs = options.idleTimeoutMs ?? IDLE_TIMEOUT_MS;
    this.#agent = new Agent({
      connections: 32,
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: idleMs,
      bodyTimeout: idleMs,
    });
  }

  /**
   * @returns a success, its body unread.
   * @throws ConflictError when the sandbox is in no state for it (paused, starting, exited), RefusedError when execd
   *   cannot do it, UnreachableError, SandboxNotFoundError, KeyRejectedError, RateLimitedError, the signal's reason.
   */
  async send(sandboxId: string, exchange: DataPlaneRequest): Promise<DataPlaneAnswer> {
    const { method, body, signal } = exchange;
    const requestId = randomUUID();
    const { url, headers } = this.#address(sandboxId, exchange.path);
    let response: Dispatcher.ResponseData;
    try {
      response = await request(url, {
        dispatcher: this.#agent,
        method,
        headers: {
          'open-sandbox-api-key': this.#options.apiKey,
          'x-request-id': requestId,
          'accept-encoding': 'identity',
          ...headers,
          ...(typeof body === 'string' ? { 'content-type': 'application/json' } : {}),
          ...exchange.headers,
        },
        body: body ?? null,
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw broken(exchange, requestId, error);
    }
    const { statusCode: status, headers: answered } = response;
    if (status >= 200 && status < 300) return { response, requestId };
    const { body: text } = await readBody(response, ERROR_MAX_BYTES, 'stop');
    throw errorOf(exchange, status, answered, text.toString('utf8'), requestId, this.#options.apiKey);
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #address(sandboxId: string, path: string): { url: string; headers: Record<string, string> } {
    const { apiUrl, gatewayUrl } = this.#options;
    if (gatewayUrl) {
      const base = /^https?:\/\//.test(gatewayUrl) ? gatewayUrl : `http://${gatewayUrl}`;
      const headers = { 'opensandbox-ingress-to': `${sandboxId}-${EXECD_PORT}` };
      return { url: `${base.replace(/\/+$/, '')}/${path}`, headers };
    }
    const id = encodeProxyPath(sandboxId);
    return { url: `${apiUrl.replace(/\/+$/, '')}/sandboxes/${id}/proxy/${EXECD_PORT}/${path}`, headers: {} };
  }
}

/** A connection that broke, before the answer or in the middle of it. */
export function broken(
  { method, pattern }: Pick<DataPlaneRequest, 'method' | 'pattern'>,
  requestId: string,
  error: unknown,
): UnreachableError {
  const { code, message } = error as NodeJS.ErrnoException;
  const why = typeof code === 'string' ? code : message;
  const route = `${method} ${pattern}`;
  const facts = { message: `The data plane did not answer ${route} (${why}).`, status: null, code: null };
  return new UnreachableError(
    { ...facts, requestId, route },
    code !== 'ECONNREFUSED' && code !== 'ENOTFOUND',
  );
}

function errorOf(
  { method, pattern }: DataPlaneRequest,
  status: number,
  headers: Dispatcher.ResponseData['headers'],
  body: string,
  requestId: string,
  apiKey: string,
): SandboxApiError {
  const answer = { status, headers: { 'x-request-id': requestId, ...headers }, body };
  const error = classify(answer, `${method} ${pattern}`, Date.now(), [apiKey]);
  const { message, code, route } = error;
  const facts = { message, status, code, requestId: error.requestId, route };
  switch (code) {
    case 'POD_IP_NOT_AVAILABLE':
    case 'NETWORK_MODE_ENDPOINT_UNAVAILABLE':
      return new ConflictError(facts);
    case 'BACKEND_CONNECTION_FAILED':
      return new UnreachableError(facts, false);
    // The words of execd itself: what it was asked to do cannot be done so.
    case 'FILE_NOT_FOUND':
    case 'CONTEXT_NOT_FOUND':
    case 'RUNTIME_ERROR':
      return new RefusedError(facts);
    default:
      return error;
  }
}
