/** The client of the Agent Sandboxes API (OpenSandbox), for the managed product and for vanilla servers alike. */

import { parseDiagnostics, parsePage, parseSandbox } from './answers.js';
import { classify, readError } from './classify.js';
import {
  type KeyRejectedError,
  type RateLimitedError,
  SandboxNotFoundError,
  UnreachableError,
} from './errors.js';
import { type Exchange, type RawAnswer, Transport } from './transport.js';
import type {
  CreateRequest,
  ProxyAnswer,
  Sandbox,
  SandboxApi,
  SandboxApiOptions,
  Timeouts,
} from './types.js';

export * from './errors.js';
export type * from './types.js';

const TIMEOUTS: Timeouts = {
  createMs: 330_000,
  lifecycleMs: 60_000,
  readMs: 15_000,
  proxyMs: 10_000,
  diagnosticsMs: 15_000,
};
const JSON_MAX_BYTES = 4 * 1024 * 1024;
const DIAGNOSTICS_MAX_BYTES = 256 * 1024;
/** Largest page that servers give. */
const PAGE_SIZE = 200;
const MAX_PAGES = 1000;

export function connectSandboxApi(options: SandboxApiOptions): SandboxApi {
  const timeouts = { ...TIMEOUTS, ...options.timeouts };
  const transport = new Transport(options.apiUrl, options.apiKey);

  return {
    async create(request, signal) {
      const answer = await call({
        method: 'POST',
        path: '/sandboxes',
        pattern: '/sandboxes',
        body: createBody(request, options.persistence),
        timeoutMs: timeouts.createMs,
        maxBytes: JSON_MAX_BYTES,
        signal,
      });
      return parseSandbox(answer.body) ?? fail(answer, 'POST /sandboxes');
    },

    async get(id, signal) {
      try {
        const answer = await call(read(`/sandboxes/${encode(id)}`, '/sandboxes/{id}', signal));
        return parseSandbox(answer.body) ?? fail(answer, 'GET /sandboxes/{id}');
      } catch (error) {
        if (error instanceof SandboxNotFoundError) return null;
        throw error;
      }
    },

    async list({ metadata }, signal) {
      const found: Sandbox[] = [];
      const filter = new URLSearchParams(metadata).toString();
      for (let page = 1; page <= MAX_PAGES; page += 1) {
        const query = new URLSearchParams({ page: `${page}`, pageSize: `${PAGE_SIZE}`, metadata: filter });
        const answer = await call(read(`/sandboxes?${query}`, '/sandboxes', signal));
        const parsed = parsePage(answer.body) ?? fail(answer, 'GET /sandboxes');
        found.push(...parsed.items);
        if (!(parsed.hasNextPage ?? parsed.items.length >= PAGE_SIZE)) break;
      }
      // Not every deployment knows the filter.
      return found.filter((each) =>
        Object.entries(metadata).every(([key, value]) => each.metadata?.[key] === value),
      );
    },

    async pause(id, signal) {
      await call(lifecycle('POST', `/sandboxes/${encode(id)}/pause`, '/sandboxes/{id}/pause', signal));
    },

    async resume(id, signal) {
      await call(lifecycle('POST', `/sandboxes/${encode(id)}/resume`, '/sandboxes/{id}/resume', signal));
    },

    async delete(id, signal) {
      try {
        await call(lifecycle('DELETE', `/sandboxes/${encode(id)}`, '/sandboxes/{id}', signal));
      } catch (error) {
        if (!(error instanceof SandboxNotFoundError)) throw error;
      }
    },

    async readThroughProxy(id, port, path, { maxBytes, timeoutMs = timeouts.proxyMs, signal }) {
      const pattern = '/sandboxes/{id}/proxy/{port}/{path}';
      try {
        const answer = await transport.exchange({
          method: 'GET',
          path: `/sandboxes/${encode(id)}/proxy/${port}/${encodePath(path)}`,
          pattern,
          timeoutMs,
          maxBytes,
          signal,
        });
        return readProxyAnswer(answer, maxBytes, `GET ${pattern}`);
      } catch (error) {
        if (error instanceof UnreachableError) return { kind: 'unavailable', message: error.message };
        throw error;
      }
    },

    async diagnostics(id, kind, { tailLines, signal } = {}) {
      const scope = { logs: '?scope=container', events: '?scope=runtime', inspect: '' }[kind];
      const tail = tailLines === undefined ? '' : `${scope === '' ? '?' : '&'}tail=${tailLines}`;
      const answer = await transport.exchange({
        method: 'GET',
        path: `/sandboxes/${encode(id)}/diagnostics/${kind}${scope}${tail}`,
        pattern: `/sandboxes/{id}/diagnostics/${kind}`,
        timeoutMs: timeouts.diagnosticsMs,
        maxBytes: DIAGNOSTICS_MAX_BYTES,
        signal,
      });
      if (answer.status !== 200)
        throw classify({ ...answer, body: answer.body.toString('utf8') }, `GET ${kind}`);
      return parseDiagnostics(answer.body);
    },

    async checkKey(signal) {
      await call(read('/sandboxes?page=1&pageSize=1', '/sandboxes', signal));
    },

    close: () => transport.close(),
  };

  /** @returns a 2xx answer. @throws everything else, classified. */
  async function call(exchange: Exchange): Promise<RawAnswer> {
    const answer = await transport.exchange(exchange);
    if (answer.status >= 200 && answer.status < 300 && answer.exceededBytes === null) return answer;
    throw classify(
      { ...answer, body: answer.body.toString('utf8') },
      `${exchange.method} ${exchange.pattern}`,
    );
  }

  function read(path: string, pattern: string, signal?: AbortSignal): Exchange {
    return { method: 'GET', path, pattern, timeoutMs: timeouts.readMs, maxBytes: JSON_MAX_BYTES, signal };
  }

  function lifecycle(
    method: 'POST' | 'DELETE',
    path: string,
    pattern: string,
    signal?: AbortSignal,
  ): Exchange {
    return { method, path, pattern, timeoutMs: timeouts.lifecycleMs, maxBytes: JSON_MAX_BYTES, signal };
  }
}

/** A success that says nothing of use, e.g. the login page of a proxy: nobody knows what was done. */
function fail(answer: RawAnswer, route: string): never {
  const message = `The sandbox API answered ${answer.status} to ${route} with something that is not its answer.`;
  throw new UnreachableError({ message, status: answer.status, code: null, requestId: null, route }, true);
}

function createBody(request: CreateRequest, persistence: SandboxApiOptions['persistence']): unknown {
  const { image, entrypoint, env, resources, metadata } = request;
  const body = { image: { uri: image }, entrypoint, env, resourceLimits: resources, metadata };
  if (request.persistence === null || persistence === 'none') return body;
  const { storageClass, size } = request.persistence;
  if (persistence === 'extensions') {
    return { ...body, extensions: { persistence: 'true', storageClass, storageSize: size } };
  }
  const pvc = {
    claimName: request.volumeName,
    storageClass,
    storage: size,
    createIfNotExists: true,
    deleteOnSandboxTermination: true,
  };
  return { ...body, volumes: [{ name: 'workspace', mountPath: '/workspace', pvc }] };
}

function readProxyAnswer(answer: RawAnswer, limitBytes: number, route: string): ProxyAnswer {
  const { status, body, exceededBytes } = answer;
  if (exceededBytes !== null) return { kind: 'too-large', sizeBytes: exceededBytes, limitBytes };
  const asText = { ...answer, body: status < 400 || body.byteLength > 65_536 ? '' : body.toString('utf8') };
  const { code, text } = readError(asText.body);
  const message = classify(asText, route).message;

  if (status === 429) throw classify(asText, route) as RateLimitedError;
  // With one of these codes the API itself speaks; without one it may as well be the agent.
  if (status === 401 && (code === 'INVALID_API_KEY' || code === 'MISSING_API_KEY')) {
    throw classify(asText, route) as KeyRejectedError;
  }
  if (code === 'SANDBOX_NOT_FOUND') return { kind: 'sandbox-not-found', message };
  if (code === 'POD_IP_NOT_AVAILABLE' || code === 'NETWORK_MODE_ENDPOINT_UNAVAILABLE')
    return { kind: 'no-address', message };
  if (
    code === 'BACKEND_CONNECTION_FAILED' ||
    (status >= 500 && /could not connect to the backend/i.test(text ?? ''))
  ) {
    return { kind: 'not-listening', message };
  }
  if (status >= 500) return { kind: 'unavailable', message };
  return { kind: 'answer', status, body };
}

function encode(segment: string): string {
  return encodeURIComponent(segment);
}

/** Segments are encoded; a query passes as it is. */
function encodePath(path: string): string {
  const [segments = '', ...query] = path.split('?');
  const encoded = segments.split('/').map(encodeURIComponent).join('/');
  return query.length === 0 ? encoded : `${encoded}?${query.join('?')}`;
}
