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
  close(): Promise<void>;
}

export const cut: Behaviour = (request) => void request.socket.destroy();

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

/** Answers by method and path without query, e.g. `GET /sandboxes/sb-1`; unknown ones are 404 as a router gives it. */
export async function scriptedApi(
  route: (methodAndPath: string) => Behaviour | undefined,
): Promise<ScriptedApi> {
  const requests: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const key = `${request.method} ${(request.url ?? '').split('?')[0]}`;
    requests.push(key);
    const behaviour = route(key) ?? json(404, { detail: 'Not Found' });
    await behaviour(request, response, Buffer.concat(chunks).toString('utf8'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
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
