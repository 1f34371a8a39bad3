/** The two listeners, and what all their requests have in common: an ID, and no way to bring them down. */

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { apiDoor, type Door, gatewayDoor } from './doors.js';
import { ApiError } from './errors.js';
import { faultsOfUpgrade, withFaults } from './faults/apply.js';
import type { Faults } from './faults/faults.js';
import { tunnel } from './proxy.js';
import { errorAnswer, sendJson } from './respond.js';
import type { Sandboxes } from './sandboxes.js';
import type { Reader } from './views.js';

/** Longer than clients keep idle connections: who closes first decides who sees a reset. */
const KEEP_ALIVE_MS = 75_000;
const HOST = '127.0.0.1';

export interface HttpServers {
  readonly url: string;
  readonly gatewayUrl: string;
  /** Begins to answer; to be called in the same turn in which `listen` has resolved. */
  serve(options: ServeOptions): void;
  /** Cuts what is under way. */
  close(): Promise<void>;
}

export interface ServeOptions {
  readonly sandboxes: Sandboxes;
  readonly apiKey: string;
  /** `null`: nobody may order any. */
  readonly faults: Faults | null;
  readonly log: (line: string) => void;
}

/**
 * Takes the ports before anything else is done, so that a taken one changes nothing.
 * @throws Error when a port cannot be had.
 */
export async function listen(port: number, gatewayPort: number): Promise<HttpServers> {
  const [api, gateway] = [makeServer(), makeServer()];
  const closeBoth = async () => {
    await Promise.all([close(api), close(gateway)]);
  };
  try {
    await bind(gateway, gatewayPort);
    await bind(api, port);
  } catch (error) {
    await closeBoth();
    throw error;
  }
  const gatewayAddress = addressOf(gateway);
  return {
    url: `http://${addressOf(api)}`,
    gatewayUrl: `http://${gatewayAddress}`,
    close: closeBoth,
    serve(options) {
      const doorOptions = { ...options, gatewayAddress };
      attach(api, apiDoor(doorOptions), options);
      attach(gateway, gatewayDoor(doorOptions), options);
    },
  };
}

function makeServer(): Server {
  return createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 });
}

function attach(server: Server, door: Door, { sandboxes, faults, log }: ServeOptions): void {
  const reader: Reader = {
    get: (id) => sandboxes.get(id),
    list: () => sandboxes.list(),
    show: (record) => record,
  };
  server.on('request', (request, response) => {
    response.setHeader('x-request-id', requestId(request));
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    const answer = async () => {
      const call = faults === null ? null : await door.callOf(faults, request);
      if (faults === null || call === null)
        return await door.handle(request, response, { reader, trouble: {} });
      await withFaults({ faults, sandboxes, reader }, call, response, (disturbed) =>
        door.handle(request, response, disturbed),
      );
    };
    answer().catch((error) => answerError(request, response, error, log));
  });
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => undefined);
    const open = async () => {
      const call = faults === null ? null : await door.callOf(faults, request);
      const fate =
        faults === null || call === null
          ? 'passes'
          : await faultsOfUpgrade({ faults, sandboxes }, call, socket);
      if (fate === 'refused') return;
      await tunnel(sandboxes, door.targetOf(request), request, socket, head);
      if (fate === 'drops-later') socket.destroy();
    };
    open().catch((error) => refuseUpgrade(socket, error));
  });
  server.on('clientError', (_error, socket) => {
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n');
  });
}

function answerError(
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  log: (line: string) => void,
): void {
  const { status, body, headers } = errorAnswer(error);
  if (!(error instanceof ApiError) && status === 500) {
    const why = error instanceof Error ? error.stack : String(error);
    log(`${request.method} ${pathOf(request)} failed: ${why}`);
  }
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
