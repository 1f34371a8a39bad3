import { afterAll, beforeAll, expect, test } from 'vitest';
import { processesMentioning, startTestServer, type TestServer } from './support.js';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ backend: 'plain' });
});
afterAll(async () => {
  await server.end();
});

const PYTHON_AGENT = `
import http.server, os
os.chdir('/workspace')
open('state.json', 'w').write('{"starts": 1}')
http.server.ThreadingHTTPServer(('', 8000), http.server.SimpleHTTPRequestHandler).serve_forever()
`;

test('the back end without isolation says so', () => {
  expect(server.server.backend).toBe('plain');
  expect(server.server.notes.join(' ')).toContain('NO ISOLATION');
});

test('sandboxes in Node.js and Python each have their port 8000', async () => {
  const ids = [
    await server.create(),
    await server.create(),
    await server.create({ entrypoint: ['python3', '-c', PYTHON_AGENT] }),
  ];
  for (const id of ids) expect(await server.untilReady(id)).toMatchObject({ starts: 1 });
  const { status, json } = await server.call('GET', `/sandboxes/${ids[0]}/proxy/9999/x`);
  expect([status, json.code]).toEqual([502, 'BACKEND_CONNECTION_FAILED']);
  for (const id of ids) await server.call('DELETE', `/sandboxes/${id}`);
});

test('pause and resume work, and leave no process', async () => {
  const id = await server.create();
  await server.untilReady(id);
  await server.call('POST', `/sandboxes/${id}/pause`);
  await server.untilState(id, 'Paused');
  expect(processesMentioning(id)).toEqual([]);
  await server.call('POST', `/sandboxes/${id}/resume`);
  expect(await server.untilReady(id)).toMatchObject({ starts: 2 });
  await server.call('DELETE', `/sandboxes/${id}`);
  expect(processesMentioning(id)).toEqual([]);
});

test('ends are told by their exit code', async () => {
  const id = await server.create({ entrypoint: ['/bin/sh', '-c', 'echo said; exit 3'] });
  await server.untilState(id, 'Failed');
  expect((await server.call('GET', `/sandboxes/${id}`)).json.status.message).toContain('code 3');
  expect((await server.call('GET', `/sandboxes/${id}/diagnostics/logs`)).text).toBe('said\n');
  await server.call('DELETE', `/sandboxes/${id}`);
});
