/** Which headers pass between a client and an agent. */

import type { IncomingMessage } from 'node:http';

/** They belong to one connection (RFC 9110, 7.6.1). `transfer-encoding` stays: Node frames the body by it. */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
];
/** The API's own, and what upstream's proxy is known to drop. */
const NEVER_TO_THE_AGENT = [
  'open-sandbox-api-key',
  'opensandbox-ingress-to',
  'opensandbox-secure-access',
  'expect',
  'host',
];
const NOT_THROUGH_THE_PROXY = ['authorization', 'cookie', 'forwarded', 'x-real-ip', 'x-forwarded-host'];

export type HeaderLists = Record<string, string[]>;

/** @param isGateway the gateway passes the client's credentials on to the agent, the proxy does not. */
export function requestHeaders(request: IncomingMessage, port: number, isGateway: boolean): HeaderLists {
  const dropped = [...NEVER_TO_THE_AGENT, ...(isGateway ? [] : NOT_THROUGH_THE_PROXY)];
  const headers = { ...passing(request, dropped), host: [`127.0.0.1:${port}`] };
  return isGateway ? headers : { ...forwarded(request), ...headers };
}

/** What upstream's proxy adds; the scheme and the client's address only where nobody has said them already. */
function forwarded(request: IncomingMessage): HeaderLists {
  return {
    'x-forwarded-proto': ['http'],
    ...(request.headers.host === undefined ? {} : { 'x-forwarded-host': [request.headers.host] }),
    'x-forwarded-for': [request.socket.remoteAddress ?? '127.0.0.1'],
  };
}

/** @param prefix put before a root-relative `Location`, so that it leads to the same sandbox again. */
export function responseHeaders(response: IncomingMessage, prefix: string): HeaderLists {
  // The request ID is the server's own.
  const headers = passing(response, ['x-request-id']);
  const location = headers.location?.[0];
  if (location?.startsWith('/') && !location.startsWith('//')) headers.location = [prefix + location];
  return headers;
}

function passing(message: IncomingMessage, alsoDropped: readonly string[]): HeaderLists {
  const named = (message.headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase());
  const dropped = new Set([...HOP_BY_HOP, ...alsoDropped, ...named]);
  const kept = Object.entries(message.headersDistinct).filter(([name]) => !dropped.has(name));
  return Object.fromEntries(kept.map(([name, values]) => [name, values ?? []]));
}
