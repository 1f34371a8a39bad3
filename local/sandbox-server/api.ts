/** The API server: authentication and routes. */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { parseCreateRequest } from './create-request.js';
import { diagnostics } from './diagnostics.js';
import { ApiError, RequestShapeError, RouteError } from './errors.js';
import { type ProxyTarget, proxy } from './proxy.js';
import { parsePort, Query } from './query.js';
import { readJson, send, sendJson } from './respond.js';
import type { Sandboxes } from './sandboxes.js';
import { listView, sandboxView } from './views.js';

/** The release whose answers were recorded. */
const UPSTREAM_VERSION = '1.1.1';
const PROXY_METHODS = 'GET, DELETE, POST, PATCH, PUT';

export interface ApiOptions {
  readonly sandboxes: Sandboxes;
  readonly apiKey: string;
  /** `host:port` of the gateway. */
  readonly gatewayAddress: string;
}

interface Route {
  /** `/v1` or nothing. */
  readonly version: string;
  readonly segments: readonly string[];
  /** The path without the version. */
  readonly path: string;
  readonly search: string;
}

export async function handleApiRequest(
  options: ApiOptions,
  request: IncomingMessage,
  response: ServerResponse,
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
  await handleSandboxes(options, route, request, response);
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
): Promise<void> {
  const { method = 'GET' } = request;
  const query = new Query(search);
  const [, id, verb, argument] = segments;
  const pattern = [id === undefined ? '' : '{id}', verb, argument === undefined ? undefined : '{}'];
  switch (pattern.filter((part) => part !== undefined && part !== '').join('/')) {
    case '':
      if (method === 'POST') {
        const record = await sandboxes.create(parseCreateRequest(await readJson(request)));
        return sendJson(response, 202, sandboxView(record));
      }
      return only(method, 'POST, GET', () => sendJson(response, 200, listView(sandboxes.list(), query)));
    case '{id}':
      if (method === 'DELETE') {
        await sandboxes.delete(id!);
        return send(response, 204, '');
      }
      return only(method, 'GET, DELETE', () => sendJson(response, 200, sandboxView(sandboxes.get(id!))));
    case '{id}/pause':
    case '{id}/resume':
      return await only(method, 'POST', async () => {
        await (verb === 'pause' ? sandboxes.pause(id!) : sandboxes.resume(id!));
        send(response, 202, '');
      });
    case '{id}/renew-expiration':
      return await only(method, 'POST', async () => {
        const expiresAt = parseExpiry(await readJson(request));
        sandboxes.renew(id!, expiresAt);
        sendJson(response, 200, { expiresAt: expiresAt.toISOString() });
      });
    case '{id}/endpoints/{}':
      return only(method, 'GET', () => {
        const port = parsePort(argument!);
        sandboxes.get(id!);
        if (query.first('use_server_proxy') === 'true') {
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

function parseRoute(url: string): Route {
  const end = url.indexOf('?');
  const [full, search] = end === -1 ? [url, ''] : [url.slice(0, end), url.slice(end)];
  const version = /^\/v1(?=\/|$)/.exec(full)?.[0] ?? '';
  const path = full.slice(version.length);
  return { version, path, search, segments: path.split('/').slice(1) };
}

/** Read late (`() => …`), because a method that is not allowed is refused before a bad port is. */
function proxyTarget({ version, segments, path, search }: Route): (() => ProxyTarget) | null {
  const [root, id, verb, port] = segments;
  if (root !== 'sandboxes' || verb !== 'proxy' || id === undefined || port === undefined) return null;
  const prefix = `/sandboxes/${id}/proxy/${port}`;
  const rest = path.slice(prefix.length) || '/';
  return () => ({
    id,
    port: parsePort(port),
    path: rest + search,
    prefix: version + prefix,
    isGateway: false,
  });
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

function parseExpiry(body: unknown): Date {
  const text = (body as { expiresAt?: unknown } | null)?.expiresAt;
  const loc = ['body', 'expiresAt'];
  if (text === undefined) throw new RequestShapeError([{ type: 'missing', loc, msg: 'Field required' }]);
  const expiresAt = new Date(typeof text === 'string' ? text : Number.NaN);
  if (Number.isNaN(expiresAt.getTime())) {
    throw new RequestShapeError([
      { type: 'datetime_from_date_parsing', loc, msg: 'Input should be a valid datetime or date' },
    ]);
  }
  if (expiresAt.getTime() > Date.now()) return expiresAt;
  throw new ApiError(400, 'LOCAL::INVALID_EXPIRATION', 'New expiration time must be in the future.');
}
