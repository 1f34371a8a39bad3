/** The two listeners, and what all their requests have in common: an ID, and no way to bring them down. */

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { handleApiRequest, upgradeTarget } from './api.js';
import { gatewayTarget } from './gateway.js';
import { type ProxyTarget, proxy, tunnel } from './proxy.js';
import { errorAnswer, sendJson } from './respond.js';
import type { Sandboxes } from './sandboxes.js';

/** Longer than clients keep idle connections: who closes first decides who sees a reset. */
const KEEP_ALIVE_MS = 75_000;
const HOST = '127.0.0.1';

export interface HttpOptions {
  readonly sandboxes: Sandboxes;
  readonly apiKey: string;
  readonly port: number;
  readonly gatewayPort: number;
  readonly log: (line: string) => void;
}

export interface HttpServers {
  readonly url: string;
  readonly gatewayUrl: string;
  /** Cuts what is under way. */
  close(): Promise<void>;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;
type TargetOf = (request: IncomingMessage) => ProxyTarget;

/** @throws Error when a port cannot be had. */
export async function listen(options: HttpOptions): Promise<HttpServers> {
  const { sandboxes, apiKey, log } = options;
  const gateway = makeServer(
    (request, response) => proxy(sandboxes, gatewayTarget(request), request, response),
    gatewayTarget,
    sandboxes,
    log,
  );
  const apiOptions = { sandboxes, apiKey, gatewayAddress: () => addressOf(gateway) };
  const api = makeServer(
    (request, response) => handleApiRequest(apiOptions, request, response),
    (request) => upgradeTarget(apiOptions, request),
    sandboxes,
    log,
  );
  try {
    await bind(gateway, options.gatewayPort);
    await bind(api, options.port);
  } catch (error) {
    await close(gateway);
    throw error;
  }
  return {
    url: `http://${addressOf(api)}`,
    gatewayUrl: `http://${addressOf(gateway)}`,
    close: async () => {
      await Promise.all([close(api), close(gateway)]);
    },
  };
}

function makeServer(
  handle: Handler,
  targetOf: TargetOf,
  sandboxes: Sandboxes,
  log: (line: string) => void,
): Server {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 });
  server.on('request', (request, response) => {
    response.setHeader('x-request-id', requestId(request));
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    handle(request, response).catch((error) => answerError(request, response, error, log));
  });
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => undefined);
    const open = async () => tunnel(sandboxes, targetOf(request), request, socket, head);
    open().catch((error) => refuseUpgrade(socket, error));
  });
  server.on('clientError', (_error, socket) => {
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n');
  });
  return server;
}

function answerError(
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  log: (line: string) => void,
): void {
  const { status, body, headers } = errorAnswer(error);
  if (status === 500) log(`${request.method} ${pathOf(request)} failed: ${describe(error)}`);
  if (response.headersSent) {
    response.destroy();
    return;
  }
  request.resume();
  sendJson(response, status, body, headers);
}

function refuseUpgrade(socket: Duplex, error: unknown): void {
  const { status, body } = errorAnswer(error);
  const text = JSON.stringify(body);
  const head = `HTTP/1.1 ${status} Refused\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n`;
  socket.end(head + text);
}

function requestId(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && /^[\x21-\x7e]{1,200}$/.test(given) ? given : randomUUID();
}

/** Without the query, which may carry what belongs to an agent alone. */
function pathOf(request: IncomingMessage): string {
  return (request.url ?? '').split('?')[0] ?? '';
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const detail = 'detail' in error && typeof error.detail === 'string' ? ` (${error.detail})` : '';
  return `${error.message}${detail}`;
}

function addressOf(server: Server): string {
  return `${HOST}:${(server.address() as AddressInfo).port}`;
}

async function bind(server: Server, port: number): Promise<void> {
  server.listen(port, HOST);
  await once(server, 'listening');
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}
