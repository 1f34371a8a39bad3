/** The API server: authentication and routes. */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { parseCreateRequest } from './create-request.js';
import { diagnostics } from './diagnostics.js';
import { ApiError, RequestShapeError, RouteError } from './errors.js';
import type { Disturbed } from './faults/apply.js';
import type { Faults } from './faults/faults.js';
import { FAULTS_PATH, handleFaultsRequest } from './faults/route.js';
import { create, pause, relabel, renew, resume } from './lifecycle.js';
import { type ProxyTarget, proxy } from './proxy.js';
import { parsePort, Query } from './query.js';
import { readJson, send, sendJson } from './respond.js';
import { parseRoute, proxyTarget, type Route } from './route.js';
import type { Sandboxes } from './sandboxes.js';
import { listView, sandboxView } from './views.js';

/** The release whose answers were recorded. */
const UPSTREAM_VERSION = '1.1.1';
const PROXY_METHODS = 'GET, DELETE, POST, PATCH, PUT';

export interface ApiOptions {
  readonly sandboxes: Sandboxes;
  readonly apiKey: string;
  readonly faults: Faults | null;
  /** `host:port` of the gateway. */
  readonly gatewayAddress: string;
}

export async function handleApiRequest(
  options: ApiOptions,
  request: IncomingMessage,
  response: ServerResponse,
  disturbed: Disturbed,
): Promise<void> {
  const route = parseRoute(request.url ?? '/');
  const { segments, version, path, search } = route;
  const { method = 'GET' } = request;
  if (version === '' && path === '/health')
    return only(method, 'GET', () => sendJson(response, 200, { status: 'healthy' }));
  if (version === '' && path === '/version') {
    return only(method, 'GET', () => sendJson(response, 200, { version: UPSTREAM_VERSION }));
  }
  checkApiKey(options.apiKey, request.headers['open-sandbox-api-key']);
  if (options.faults !== null && path === FAULTS_PATH) {
    return await handleFaultsRequest(options.faults, request, response);
  }
  const target = proxyTarget(route);
  if (target !== null) {
    if (!PROXY_METHODS.split(', ').includes(method)) {
      throw new RouteError(405, 'Method Not Allowed', { allow: PROXY_METHODS });
    }
    return await proxy(options.sandboxes, target(), request, response);
  }
  if (path !== '/' && path.endsWith('/')) {
    const location = `http://${request.headers.host}${version}${path.slice(0, -1)}${search}`;
    return send(response, 307, '', { location });
  }
  if (segments[0] !== 'sandboxes') throw new RouteError(404, 'Not Found');
  await handleSandboxes(options, route, request, response, disturbed);
}

/** Where an upgrade request leads to. @throws ApiError, RouteError when it leads nowhere. */
export function upgradeTarget(options: ApiOptions, request: IncomingMessage): ProxyTarget {
  checkApiKey(options.apiKey, request.headers['open-sandbox-api-key']);
  const target = proxyTarget(parseRoute(request.url ?? '/'));
  if (target === null) throw new RouteError(404, 'Not Found');
  return target();
}

async function handleSandboxes(
  { sandboxes, gatewayAddress }: ApiOptions,
  { segments, version, search }: Route,
  request: IncomingMessage,
  response: ServerResponse,
  { reader, trouble }: Disturbed,
): Promise<void> {
  const { method = 'GET' } = request;
  const query = new Query(search);
  const [, id, verb, argument] = segments;
  const pattern = [id === undefined ? '' : '{id}', verb, argument === undefined ? undefined : '{}'];
  switch (pattern.filter((part) => part !== undefined && part !== '').join('/')) {
    case '':
      if (method === 'POST') {
        const record = await create(sandboxes, parseCreateRequest(await readJson(request)), trouble);
        return sendJson(response, 202, sandboxView(reader.show(record)));
      }
      return only(method, 'POST, GET', () => sendJson(response, 200, listView(reader.list(), query)));
    case '{id}':
      if (method === 'DELETE') {
        await sandboxes.delete(id!);
        return send(response, 204, '');
      }
      return only(method, 'GET, DELETE', () => sendJson(response, 200, sandboxView(reader.get(id!))));
    case '{id}/pause':
    case '{id}/resume':
      return await only(method, 'POST', async () => {
        await (verb === 'pause' ? pause : resume)(sandboxes, id!, trouble);
        send(response, 202, '');
      });
    case '{id}/renew-expiration':
      return await only(method, 'POST', async () => {
        const expiresAt = parseExpiry(await readJson(request));
        renew(sandboxes, id!, expiresAt);
        sendJson(response, 200, { expiresAt: expiresAt.toISOString() });
      });
    case '{id}/metadata':
      return await only(method, 'PATCH', async () => {
        const record = relabel(sandboxes, id!, await readJson(request));
        sendJson(response, 200, sandboxView(reader.show(record)));
      });
    case '{id}/endpoints/{}':
      return only(method, 'GET', () => {
        const port = parsePort(argument!);
        refuseSignedRoute(query);
        sandboxes.get(id!);
        if (query.boolean('use_server_proxy')) {
          const endpoint = `${request.headers.host}${version}/sandboxes/${id}/proxy/${port}`;
          return sendJson(response, 200, { endpoint });
        }
        const headers = { 'OpenSandbox-Ingress-To': `${id}-${port}` };
        sendJson(response, 200, { endpoint: gatewayAddress, headers });
      });
    case '{id}/diagnostics/{}':
      return only(method, 'GET', () => {
        const answer = diagnostics(sandboxes, sandboxes.get(id!), argument!, query);
        if (answer === null) throw new RouteError(404, 'Not Found');
        send(response, 200, answer.body, answer.headers);
      });
    default:
      throw new RouteError(404, 'Not Found');
  }
}

function only<T>(method: string, allow: string, handle: () => T): T {
  if (!allow.split(', ').includes(method)) throw new RouteError(405, 'Method Not Allowed', { allow });
  return handle();
}

function checkApiKey(expected: string, given: string | string[] | undefined): void {
  if (given === undefined || given === '') {
    const message =
      'Authentication credentials are missing. Provide API key via OPEN-SANDBOX-API-KEY header.';
    throw new ApiError(401, 'MISSING_API_KEY', message);
  }
  const digest = (text: string) => createHash('sha256').update(text).digest();
  if (!timingSafeEqual(digest(String(given)), digest(expected))) {
    const message = 'Authentication credentials are invalid. Check your API key and try again.';
    throw new ApiError(401, 'INVALID_API_KEY', message);
  }
}

function refuseSignedRoute(query: Query): void {
  if (query.last('expires') === null) return;
  if (query.boolean('use_server_proxy')) {
    const message =
      'use_server_proxy cannot be combined with expires; signed endpoints require the gateway route.';
    throw new ApiError(400, 'SANDBOX::INVALID_PARAMETER', message);
  }
  const message = 'Signed routes (expires parameter) are not supported by local sandboxes.';
  throw new ApiError(400, 'SANDBOX::API_NOT_SUPPORTED', message);
}

function parseExpiry(body: unknown): Date {
  const text = (body as { expiresAt?: unknown } | null)?.expiresAt;
  const loc = ['body', 'expiresAt'];
  if (text === undefined) throw new RequestShapeError([{ type: 'missing', loc, msg: 'Field required' }]);
  // A time without a zone is meant as UTC.
  const isLocal = typeof text === 'string' && /T[\d:.]+$/.test(text);
  const expiresAt = new Date(typeof text === 'string' ? `${text}${isLocal ? 'Z' : ''}` : Number.NaN);
  if (Number.isNaN(expiresAt.getTime())) {
    throw new RequestShapeError([
      { type: 'datetime_from_date_parsing', loc, msg: 'Input should be a valid datetime or date' },
    ]);
  }
  if (expiresAt.getTime() > Date.now()) return expiresAt;
  throw new ApiError(400, 'LOCAL::INVALID_EXPIRATION', 'New expiration time must be in the future.');
}
