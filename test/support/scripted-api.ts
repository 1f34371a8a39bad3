/** A sandbox API whose every answer is scripted, over real HTTP: for faults that no real server shows on demand. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Behaviour = (
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
) => void | Promise<void>;

export interface ScriptedApi {
  readonly url: string;
  /** `METHOD path` of every request, in the order of arrival. */
  readonly requests: string[];
  /** The same with queries. */
  readonly targets: string[];
  openConnections(): Promise<number>;
  close(): Promise<void>;
}

export const cut: Behaviour = (request) => void request.socket.destroy();

/** Cuts with a reset, as a machine in between does that has forgotten the connection. */
export const reset: Behaviour = (request) => void request.socket.resetAndDestroy();

/** Cuts in the middle of a body whose length was declared. */
export const cutBody: Behaviour = (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '512' });
  response.write('{"step":41', () => response.destroy());
};

/** Keeps the connection open and says nothing. */
export const silence: Behaviour = (request) => void request;

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Behaviour {
  return (_, response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify(body));
}

export function html(status: number): Behaviour {
  return (_, response) =>
    void response.writeHead(status, { 'content-type': 'text/html' }).end('<html>a page</html>');
}

/** Sends headers and the beginning of a body, then nothing more. */
export const stall: Behaviour = (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '512' });
  response.write('{"status":');
};

/** Streams so many bytes of one character as fast as they are taken; `sent` counts them. */
export function flood(totalBytes: number, sent: { bytes: number } = { bytes: 0 }, status = 200): Behaviour {
  const chunk = Buffer.alloc(64 * 1024, 'x');
  return (_, response) => {
    response.writeHead(status, { 'content-type': 'text/plain' });
    const more = () => {
      while (sent.bytes < totalBytes && !response.destroyed) {
        sent.bytes += chunk.byteLength;
        if (!response.write(chunk)) return void response.once('drain', more);
      }
      response.end();
    };
    more();
  };
}

export function delayed(delayMs: number, behaviour: Behaviour): Behaviour {
  return (request, response, body) =>
    void setTimeout(() => void behaviour(request, response, body), delayMs).unref();
}

/** Answers by method and path without query, e.g. `GET /sandboxes/sb-1`; unknown ones are 404 as a router gives it. */
export async function scriptedApi(
  route: (methodAndPath: string) => Behaviour | undefined,
): Promise<ScriptedApi> {
  const requests: string[] = [];
  const targets: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const key = `${request.method} ${(request.url ?? '').split('?')[0]}`;
    requests.push(key);
    targets.push(`${request.method} ${request.url}`);
    const behaviour = route(key) ?? json(404, { detail: 'Not Found' });
    await behaviour(request, response, Buffer.concat(chunks).toString('utf8'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    targets,
    openConnections: () =>
      new Promise((resolve, reject) => {
        server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
      }),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Gives the behaviours one after the other, then the last one for ever. */
export function inTurn(...behaviours: readonly Behaviour[]): () => Behaviour {
  let next = 0;
  return () => behaviours[Math.min(next++, behaviours.length - 1)] as Behaviour;
}
