/** Long, large, slow and broken bodies, and WebSocket, through the proxy and the gateway. */

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { WebSocket } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API_KEY, type Client, endProcess, spawnServer, temporaryFolder, until } from './support.js';

const MIB = 2 ** 20;
const BODY_BYTES = 256 * MIB;
/** What bodies in flight may add to the memory of the server: less than half of one, garbage included. */
const GROWTH_BYTES = 128 * MIB;

const AGENT = `
const { createServer } = require('node:http');
const { createHash } = require('node:crypto');
let closed = 0;
process.on('unhandledRejection', () => undefined);
const server = createServer(async (request, response) => {
  const [path] = request.url.split('?');
  const block = Buffer.alloc(${MIB}, 'x');
  if (path === '/down') {
    response.setHeader('content-length', ${BODY_BYTES});
    for (let left = ${BODY_BYTES / MIB}; left > 0 && !response.destroyed; left--)
      if (!response.write(block)) await new Promise((go) => response.once('drain', go).once('close', go));
    return response.end();
  }
  if (path === '/up') { let size = 0; for await (const chunk of request) size += chunk.length; return response.end(String(size)); }
  if (path === '/hang') return request.on('close', () => closed++);
  if (path === '/closed') return response.end(String(closed));
  if (path === '/trickle') { response.write('a'); return setTimeout(() => response.end('b'), 1500); }
  if (path === '/die') { response.write('begun'); return setTimeout(() => process.exit(1), 20); }
  response.end('ok');
});
server.on('upgrade', (request, socket) => {
  const key = request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
  const accept = createHash('sha1').update(key).digest('base64');
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nupgrade: websocket\\r\\nconnection: upgrade\\r\\nsec-websocket-accept: ' + accept + '\\r\\n\\r\\n');
  socket.on('error', () => undefined).on('data', (frame) => {
    if ((frame[0] & 15) !== 1) return socket.end();
    const length = frame[1] & 127;
    const text = frame.subarray(6, 6 + length).map((byte, n) => byte ^ frame[2 + (n % 4)]);
    socket.write(Buffer.concat([Buffer.from([129, length]), text]));
  });
});
server.listen(8000);
`;

let client: Client;
let child: ChildProcess;
let dataDir: string;
let id: string;
beforeAll(async () => {
  dataDir = temporaryFolder();
  ({ client, child } = await spawnServer(dataDir, 'ignore', ['--answer-timeout', '1']));
  id = await newAgent();
});
afterAll(async () => {
  await client.call('DELETE', `/sandboxes/${id}`);
  await endProcess(child, 'SIGTERM');
  rmSync(dataDir, { recursive: true, force: true });
});

async function newAgent(): Promise<string> {
  const agent = await client.create({ entrypoint: ['node', '-e', AGENT] });
  await until(async () => (await client.call('GET', proxied('/', agent))).status === 200, 'the agent');
  return agent;
}
const proxied = (path: string, agent = id) => `/sandboxes/${agent}/proxy/8000${path}`;
const headersOf = (door: string) => ({
  'open-sandbox-api-key': API_KEY,
  ...(door === 'gateway' ? { 'opensandbox-ingress-to': `${id}-8000` } : {}),
});
const urlOf = (door: string, path: string) =>
  door === 'gateway' ? client.gatewayUrl + path : client.url + proxied(path);
/** The most that the server has had since it started. */
const peakMemoryBytes = () =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) * 1024;

describe.each(['gateway', 'proxy'])('through the %s', (door) => {
  test('large bodies pass in both directions in constant memory', async () => {
    const before = peakMemoryBytes();
    const down = await fetch(urlOf(door, '/down'), { headers: headersOf(door) });
    let downBytes = 0;
    for await (const chunk of down.body as AsyncIterable<Uint8Array>) downBytes += chunk.length;
    expect(downBytes).toBe(BODY_BYTES);

    const block = Buffer.alloc(MIB);
    const blocks = Readable.from(
      (function* () {
        for (let n = 0; n < BODY_BYTES / MIB; n++) yield block;
      })(),
    );
    const init = { method: 'POST', headers: headersOf(door), body: Readable.toWeb(blocks), duplex: 'half' };
    const up = await fetch(urlOf(door, '/up'), init as RequestInit);
    expect(await up.text()).toBe(String(BODY_BYTES));
    expect(peakMemoryBytes() - before).toBeLessThan(GROWTH_BYTES);
  });

  test('a reader that does not read holds the agent back, and not the body in memory', async () => {
    const before = peakMemoryBytes();
    const request = httpRequest(urlOf(door, '/down'), { headers: headersOf(door) });
    request.end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.pause();
    const others = await Promise.all(
      Array.from({ length: 20 }, () => fetch(urlOf(door, '/'), { headers: headersOf(door) })),
    );
    expect(others.every(({ status }) => status === 200)).toBe(true);
    expect(peakMemoryBytes() - before).toBeLessThan(GROWTH_BYTES);
    request.destroy();
  });

  test('an agent that never answers is a 504, one that is slow once it has begun is waited for', async () => {
    const hanging = await fetch(urlOf(door, '/hang'), { headers: headersOf(door) });
    expect([hanging.status, await hanging.json()]).toMatchObject([504, { code: 'BACKEND_TIMEOUT' }]);
    expect(await (await fetch(urlOf(door, '/trickle'), { headers: headersOf(door) })).text()).toBe('ab');
  });

  test('a client that gives up closes the connection to the agent', async () => {
    const closed = async () =>
      Number(await (await fetch(urlOf(door, '/closed'), { headers: headersOf(door) })).text());
    const before = await closed();
    const request = httpRequest(urlOf(door, '/hang'), { headers: headersOf(door) });
    request.on('error', () => undefined).end();
    await once(request, 'socket');
    await new Promise((resolve) => setTimeout(resolve, 50));
    request.destroy();
    await until(async () => (await closed()) > before, 'the end of the connection');
  });

  test('a WebSocket carries messages both ways', async () => {
    const url = urlOf(door, '/ws').replace('http:', 'ws:');
    const socket = new WebSocket(url, { headers: headersOf(door) });
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve);
      socket.addEventListener('error', reject);
    });
    for (const text of ['hello', 'again']) {
      const message = new Promise((resolve) =>
        socket.addEventListener('message', ({ data }) => resolve(data), { once: true }),
      );
      socket.send(text);
      expect(await message).toBe(text);
    }
    socket.close();
  });
});

test('an agent that dies in the middle of an answer cuts it short', async () => {
  const mortal = await newAgent();
  await expect(client.call('GET', proxied('/die', mortal))).rejects.toThrow();
  await client.untilState(mortal, 'Failed');
  await client.call('DELETE', `/sandboxes/${mortal}`);
});
