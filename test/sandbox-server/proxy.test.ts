import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { API_KEY, readAnswer, startTestServer, type TestServer } from './support.js';

let server: TestServer;
let id: string;
beforeAll(async () => {
  server = await startTestServer();
  id = await server.create();
  await server.untilReady(id);
});
afterAll(async () => {
  await server.end();
});

const proxied = (path: string, port = 8000) => `/v1/sandboxes/${id}/proxy/${port}${path}`;
const throughGateway = (path: string, init: RequestInit = {}) =>
  fetch(server.gatewayUrl + path, {
    ...init,
    headers: { ...init.headers, 'OpenSandbox-Ingress-To': `${id}-8000` },
  });

test.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])(
  '%s reaches the agent with path, query and body',
  async (method) => {
    const body = method === 'GET' ? undefined : 'some text';
    const { json } = await server.call(method, proxied('/echo?x=1&x=2&y'), body);
    expect(json).toMatchObject({ method, url: '/echo?x=1&x=2&y', body: body ?? '' });
  },
);

test('credentials of the API are not passed on by the proxy; the gateway passes those of the agent', async () => {
  const headers = { authorization: 'Bearer t', cookie: 'c=1', 'x-mine': '1', host: 'elsewhere' };
  const seen = (await server.call('GET', proxied('/echo'), undefined, headers)).json.headers;
  expect(seen).toMatchObject({ 'x-mine': '1', host: '127.0.0.1:8000' });
  for (const name of ['authorization', 'cookie', 'open-sandbox-api-key'])
    expect(seen).not.toHaveProperty(name);
  const atGateway = (await (
    await throughGateway('/echo', { headers: { ...headers, 'open-sandbox-api-key': API_KEY } })
  ).json()) as { headers: Record<string, string> };
  expect(atGateway.headers).toMatchObject({ authorization: 'Bearer t', cookie: 'c=1' });
  expect(atGateway.headers).not.toHaveProperty('open-sandbox-api-key');
  expect(atGateway.headers).not.toHaveProperty('opensandbox-ingress-to');
});

test('paths are put together anew by the proxy, as upstream does, and pass the gateway as they are', async () => {
  for (const [sent, seen] of [
    ['/echo/a%20b/%2Fc?q=%2F', '/echo/a%20b//c?q=%2F'],
    ['/echo/%C3%BC%E2%82%AC', '/echo/%C3%BC%E2%82%AC'],
    ['/echo/%ff', '/echo/%EF%BF%BD'],
    ['/echo/%41%7e', '/echo/A~'],
    ['//echo', '/echo'],
  ] as const) {
    expect((await server.call('GET', proxied(sent))).json?.url).toBe(seen);
    if (!sent.startsWith('//')) {
      expect(await (await throughGateway(sent)).json()).toMatchObject({ url: sent });
    }
  }
});

test("the agent's own status, cookies and redirects come back", async () => {
  expect(await server.call('GET', proxied('/teapot'))).toMatchObject({ status: 418 });
  const redirect = await server.call('GET', proxied('/redirect'));
  expect([redirect.status, redirect.headers.get('location'), redirect.headers.getSetCookie()]).toEqual([
    302,
    proxied('/elsewhere'),
    ['a=1', 'b=2'],
  ]);
});

test('the root of the agent is reached with and without a slash', async () => {
  for (const path of ['', '/'])
    expect(await server.call('GET', proxied(path))).toMatchObject({ status: 418 });
});

test('bytes flow in both directions while they come', async () => {
  const request = httpRequest(server.url + proxied('/events'), {
    method: 'POST',
    headers: { 'open-sandbox-api-key': API_KEY },
  });
  request.flushHeaders();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const [first] = await once(response, 'data');
  expect(String(first)).toBe('data: first\n\n');
  request.end('go on');
  const [second] = await once(response, 'data');
  expect(String(second)).toBe('data: second\n\n');
});

test('large bodies pass whole', async () => {
  const down = await (await throughGateway('/big')).arrayBuffer();
  expect(down.byteLength).toBe(32 * 2 ** 20);
  const { json } = await server.call('POST', proxied('/size'), 'x'.repeat(8 * 2 ** 20));
  expect(json).toEqual({ size: 8 * 2 ** 20 });
});

test('a port on which nobody listens is 502 BACKEND_CONNECTION_FAILED', async () => {
  const { status, json } = await server.call('GET', proxied('/x', 9999));
  expect([status, json.code]).toEqual([502, 'BACKEND_CONNECTION_FAILED']);
});

test.each(['/drop', '/garbage'])('an agent that answers %s is 502 BACKEND_RESPONSE_FAILED', async (path) => {
  const { status, json } = await server.call('GET', proxied(path));
  expect([status, json.code]).toEqual([502, 'BACKEND_RESPONSE_FAILED']);
});

test('an answer that is cut short is cut short for the client, too', async () => {
  await expect(server.call('GET', proxied('/cut'))).rejects.toThrow();
  expect(await server.call('GET', proxied('/state.json'))).toMatchObject({ status: 200 });
});

test('the gateway wants its header, and needs no API key', async () => {
  const missing = await readAnswer(await fetch(`${server.gatewayUrl}/state.json`));
  expect([missing.status, missing.json.code]).toEqual([400, 'LOCAL::INGRESS_TARGET_INVALID']);
  const headers = { 'OpenSandbox-Ingress-To': '00000000-0000-0000-0000-000000000000-8000' };
  expect((await fetch(server.gatewayUrl, { headers })).status).toBe(404);
  expect(await (await throughGateway('/state.json')).json()).toMatchObject({ starts: 1 });
  expect((await throughGateway('/x', { method: 'HEAD' })).status).toBe(418);
});

test('an upgraded connection is a tunnel', async () => {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  socket.write(
    `GET ${proxied('/ws')} HTTP/1.1\r\nhost: x\r\nopen-sandbox-api-key: ${API_KEY}\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n`,
  );
  const [head] = await once(socket, 'data');
  expect(String(head)).toMatch(/^HTTP\/1.1 101 /);
  socket.write('ping');
  const [echo] = await once(socket, 'data');
  expect(String(echo)).toBe('ping');
  socket.destroy();
});

test('no request takes the server down', async () => {
  const port = Number(new URL(server.url).port);
  const sendRaw = async (bytes: string) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.end(bytes);
    socket.resume();
    await once(socket, 'close');
  };
  const key = `open-sandbox-api-key: ${API_KEY}\r\n`;
  await sendRaw('\x16\x03\x01\x02\x00nonsense');
  await sendRaw('GET /sandboxes HTTP/1.1\r\n\r\n');
  await sendRaw(`POST /sandboxes HTTP/1.1\r\nhost: x\r\n${key}content-length: 1000\r\n\r\n{`);
  await sendRaw(`GET ${proxied('/../../%00%ff')} HTTP/1.1\r\nhost: x\r\n${key}\r\n`);
  await sendRaw(`GET /sandboxes/%2e%2e/proxy/8000/x HTTP/1.1\r\nhost: x\r\n${key}\r\n`);
  await sendRaw(`GET /sandboxes?metadata=%E0%A4%A HTTP/1.1\r\nhost: x\r\n${key}\r\n`);
  await sendRaw(
    `GET ${proxied('/ws', 9999)} HTTP/1.1\r\nhost: x\r\n${key}connection: upgrade\r\nupgrade: x\r\n\r\n`,
  );
  await sendRaw(
    `POST ${proxied('/size')} HTTP/1.1\r\nhost: x\r\n${key}transfer-encoding: chunked\r\n\r\nzz\r\n`,
  );
  const aborted = new AbortController();
  const big = throughGateway('/big', { signal: aborted.signal });
  await big;
  aborted.abort();
  expect(await server.call('GET', proxied('/state.json'))).toMatchObject({ status: 200 });
});
