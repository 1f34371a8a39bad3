/** Carries requests to the agents and their answers back, streaming in both directions. */

import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Duplex, pipeline } from 'node:stream';
import { ApiError } from './errors.js';
import { EXECD_PORT, serveExecd } from './execd/index.js';
import { requestHeaders, responseHeaders } from './proxy-headers.js';
import type { Sandboxes } from './sandboxes.js';

export interface ProxyTarget {
  readonly id: string;
  readonly port: number;
  /** Path and query for the agent, as they came. */
  readonly path: string;
  /** What the client's path has before that one; empty at the gateway. */
  readonly prefix: string;
  readonly isGateway: boolean;
}

/**
 * Resolves when the answer has been passed on, or its one end has gone away.
 * @throws ApiError when there is no answer to pass on.
 */
export async function proxy(
  sandboxes: Sandboxes,
  target: ProxyTarget,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { id, port } = target;
  if (port === EXECD_PORT) return await serveExecd(sandboxes, target, request, response);
  const connection = await sandboxes.connect(id, port);
  if (response.destroyed) {
    connection.destroy();
    return;
  }
  await new Promise<void>((resolve, reject) => {
    let isAnswered = false;
    const fail = (status: number, code: string, message: string) => {
      if (!isAnswered && !response.destroyed) reject(new ApiError(status, code, message));
      else response.destroy();
      resolve();
    };
    const dropped = (why: string) =>
      fail(
        502,
        'BACKEND_RESPONSE_FAILED',
        `The backend sandbox ${id}:${port} dropped the connection or sent an invalid response: ${why}`,
      );
    // One connection per request: it costs less than a millisecond, and none is stale after a pause.
    const upstream = httpRequest({
      createConnection: () => connection as Socket,
      method: request.method,
      path: target.path,
      headers: { ...requestHeaders(request, port, target.isGateway), connection: ['close'] },
    });
    const timer = setTimeout(() => {
      fail(504, 'BACKEND_TIMEOUT', `The backend sandbox ${id}:${port} did not respond in time.`);
      upstream.destroy();
    }, sandboxes.steps.machine.answerTimeoutMs);
    upstream.on('response', (answer) => {
      clearTimeout(timer);
      try {
        response.writeHead(
          answer.statusCode ?? 502,
          answer.statusMessage,
          responseHeaders(answer, target.prefix),
        );
      } catch (error) {
        dropped(String(error));
        upstream.destroy();
        return;
      }
      isAnswered = true;
      response.flushHeaders();
      pipeline(answer, response, () => resolve());
    });
    upstream.on('error', (error) => {
      // After the answer has begun, its own stream tells whether it is whole.
      if (!isAnswered) dropped(error.message);
    });
    upstream.on('close', () => {
      clearTimeout(timer);
      if (!isAnswered) dropped('closed without an answer');
      // An agent may answer before it has read everything: the rest must go somewhere.
      request.unpipe(upstream);
      request.resume();
    });
    response.on('close', () => {
      upstream.destroy();
      connection.destroy();
    });
    // An upload may take as long as it likes; the agent's time begins with its last byte.
    request.on('data', () => timer.refresh());
    // Else the head would wait for the first byte of the body.
    upstream.flushHeaders();
    request.pipe(upstream);
  });
}

/** Upgraded connections (WebSocket): the agent's own answer, then bytes both ways. */
export async function tunnel(
  sandboxes: Sandboxes,
  target: ProxyTarget,
  request: IncomingMessage,
  client: Duplex,
  head: Buffer,
): Promise<void> {
  const connection = await sandboxes.connect(target.id, target.port);
  const headers = Object.entries(requestHeaders(request, target.port, target.isGateway)).flatMap(
    ([name, values]) => values.map((value) => `${name}: ${value}\r\n`),
  );
  const upgrade = `connection: Upgrade\r\nupgrade: ${request.headers.upgrade}\r\n`;
  connection.write(
    `${request.method} ${target.path} HTTP/1.1\r\n${headers.join('')}${upgrade}\r\n`,
    'latin1',
  );
  connection.write(head);
  const end = () => {
    client.destroy();
    connection.destroy();
  };
  pipeline(client, connection, end);
  pipeline(connection, client, end);
}
