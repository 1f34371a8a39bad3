/** The client of the Agent Sandboxes API (OpenSandbox), for the managed product and for vanilla servers alike. */

import { parseSandbox } from './answers.js';
import { classify } from './classify.js';
import { createBody } from './create-body.js';
import { DIAGNOSTICS_MAX_BYTES, diagnosticsQueries, diagnosticsText, isScopeUnknown } from './diagnostics.js';
import { type SandboxApiError, SandboxNotFoundError, UnreachableError } from './errors.js';
import { listAll } from './list.js';
import { encodeProxyPath, readProxyAnswer } from './proxy.js';
import { ERROR_MAX_BYTES } from './read-body.js';
import { type Exchange, type RawAnswer, Transport } from './transport.js';
import type { ProxyAnswer, ProxyOptions, SandboxApi, SandboxApiOptions, Timeouts } from './types.js';

export {
  type Command,
  connectDataPlane,
  type DataPlane,
  type DataPlaneOptions,
  type Download,
  type FileInfo,
  type StreamEvent,
} from './data-plane.js';
export * from './errors.js';
export { type SandboxFiles, sandboxFiles } from './sandbox-files.js';
export type * from './types.js';

const TIMEOUTS: Timeouts = {
  createMs: 330_000,
  lifecycleMs: 60_000,
  readMs: 15_000,
  proxyMs: 10_000,
  diagnosticsMs: 15_000,
};
/** Of a list, since one sandbox is far smaller: Kubernetes stores no object larger than 1.5 MiB. */
const JSON_MAX_BYTES = 4 * 1024 * 1024;

/**
 * Makes no request by itself.
 * @throws TypeError when the key is one that no request can carry.
 */
export function connectSandboxApi(options: SandboxApiOptions): SandboxApi {
  const timeouts = { ...TIMEOUTS, ...options.timeouts };
  const transport = new Transport(options.apiUrl, options.apiKey);

  return {
    async create(request, signal) {
      const exchange: Exchange = {
        ...ofApi('POST', '/sandboxes', '/sandboxes', signal),
        body: createBody(request, options.persistence),
        timeoutMs: timeouts.createMs,
      };
      const answer = await call(exchange, Object.values(request.env));
      return parseSandbox(answer.body) ?? meaningless(answer, 'POST /sandboxes');
    },

    async get(id, signal) {
      try {
        const answer = await call(read(`/sandboxes/${encodeURIComponent(id)}`, '/sandboxes/{id}', signal));
        return parseSandbox(answer.body) ?? meaningless(answer, 'GET /sandboxes/{id}');
      } catch (error) {
        if (error instanceof SandboxNotFoundError) return null;
        throw error;
      }
    },

    async list({ metadata }, signal) {
      const labels = Object.entries(metadata);
      const filter = labels.length === 0 ? {} : { metadata: new URLSearchParams(metadata).toString() };
      const all = await listAll(
        (page, pageSize) => {
          const query = new URLSearchParams({ page: `${page}`, pageSize: `${pageSize}`, ...filter });
          return call(read(`/sandboxes?${query}`, '/sandboxes', signal));
        },
        (answer) => meaningless(answer, 'GET /sandboxes'),
      );
      // Not every deployment knows the filter.
      return all.filter((each) => labels.every(([key, value]) => each.metadata?.[key] === value));
    },

    async pause(id, signal) {
      await call(
        ofApi('POST', `/sandboxes/${encodeURIComponent(id)}/pause`, '/sandboxes/{id}/pause', signal),
      );
    },

    async resume(id, signal) {
      await call(
        ofApi('POST', `/sandboxes/${encodeURIComponent(id)}/resume`, '/sandboxes/{id}/resume', signal),
      );
    },

    async delete(id, signal) {
      try {
        await call(ofApi('DELETE', `/sandboxes/${encodeURIComponent(id)}`, '/sandboxes/{id}', signal));
      } catch (error) {
        if (!(error instanceof SandboxNotFoundError)) throw error;
      }
    },

    readThroughProxy: (id, port, path, options) => throughProxy('GET', id, port, path, options),

    postThroughProxy: (id, port, path, { body, headers, ...options }) =>
      throughProxy('POST', id, port, path, options, { body, headers }),

    async diagnostics(id, kind, { tailLines, signal } = {}) {
      const pattern = `/sandboxes/{id}/diagnostics/${kind}`;
      const [first = '', ...others] = diagnosticsQueries(kind, tailLines);
      let answer = await ask(first);
      for (const query of others) if (isScopeUnknown(answer)) answer = await ask(query);
      if (!isSuccess(answer)) throw classified(answer, { method: 'GET', pattern });
      return diagnosticsText(answer, tailLines) ?? meaningless(answer, `GET ${pattern}`);

      function ask(query: string): Promise<RawAnswer> {
        return transport.exchange({
          method: 'GET',
          path: `/sandboxes/${encodeURIComponent(id)}/diagnostics/${kind}${query}`,
          pattern,
          timeoutMs: timeouts.diagnosticsMs,
          maxBytes: DIAGNOSTICS_MAX_BYTES,
          overflow: 'keep-tail',
          lane: 'agents',
          signal,
        });
      }
    },

    async checkKey(signal) {
      await call(read('/sandboxes?page=1&pageSize=1', '/sandboxes', signal));
    },

    close: () => transport.close(),
  };

  async function throughProxy(
    method: 'GET' | 'POST',
    id: string,
    port: number,
    path: string,
    { maxBytes, timeoutMs = timeouts.proxyMs, signal }: ProxyOptions,
    request: Pick<Exchange, 'body' | 'headers'> = {},
  ): Promise<ProxyAnswer> {
    const exchange: Exchange = {
      ...request,
      method,
      path: `/sandboxes/${encodeURIComponent(id)}/proxy/${port}/${encodeProxyPath(path)}`,
      pattern: '/sandboxes/{id}/proxy/{port}/{path}',
      timeoutMs,
      maxBytes,
      overflow: 'stop',
      lane: 'agents',
      signal,
    };
    try {
      const answer = await transport.exchange(exchange);
      return readProxyAnswer(answer, maxBytes, () => classified(answer, exchange));
    } catch (error) {
      if (error instanceof UnreachableError) return { kind: 'unavailable', message: error.message };
      throw error;
    }
  }

  /** @param secrets of the request. @returns a 2xx answer. @throws everything else, classified. */
  async function call(exchange: Exchange, secrets: readonly string[] = []): Promise<RawAnswer> {
    const answer = await transport.exchange(exchange);
    if (isSuccess(answer)) return answer;
    throw classified(answer, exchange, secrets);
  }

  function classified(
    answer: RawAnswer,
    { method, pattern }: Pick<Exchange, 'method' | 'pattern'>,
    secrets: readonly string[] = [],
  ): SandboxApiError {
    const { status, requestId, body } = answer;
    const headers = { ...answer.headers, 'x-request-id': requestId };
    const text = body.byteLength > ERROR_MAX_BYTES ? '' : body.toString('utf8');
    const route = `${method} ${pattern}`;
    return classify({ status, headers, body: text }, route, Date.now(), [options.apiKey, ...secrets]);
  }

  function read(path: string, pattern: string, signal: AbortSignal | undefined): Exchange {
    return { ...ofApi('GET', path, pattern, signal), timeoutMs: timeouts.readMs };
  }

  /** Exchanges with the API server itself, where an answer is a small JSON document or nothing. */
  function ofApi(
    method: Exchange['method'],
    path: string,
    pattern: string,
    signal: AbortSignal | undefined,
  ): Exchange {
    const timeoutMs = timeouts.lifecycleMs;
    return {
      method,
      path,
      pattern,
      timeoutMs,
      maxBytes: JSON_MAX_BYTES,
      overflow: 'stop',
      lane: 'api',
      signal,
    };
  }
}

function isSuccess({ status }: RawAnswer): boolean {
  return status >= 200 && status < 300;
}

/** A success that says nothing of use, e.g. the login page of a proxy: nobody knows what was done. */
function meaningless({ status, requestId, exceededBytes }: RawAnswer, route: string): never {
  const what =
    exceededBytes === null
      ? 'something that is not its answer'
      : `more than the ${JSON_MAX_BYTES / 2 ** 20} MiB that are read`;
  const message = `The sandbox API answered ${status} to ${route} with ${what}.`;
  throw new UnreachableError({ message, status, code: null, requestId, route }, true);
}
