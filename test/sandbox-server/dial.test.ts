import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { unshare } from '../../local/sandbox-server/backends/unshare.js';
import { createDialer } from '../../local/sandbox-server/dial.js';
import { startTestServer, type TestServer } from './support.js';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(async () => {
  await server.end();
});

test('without Python, nsenter and bash make the connections', async () => {
  const id = await server.create();
  await server.untilReady(id);
  const home = join(server.dataDir, id);
  const { init } = JSON.parse(readFileSync(join(home, 'sandbox.json'), 'utf8'));
  const dialer = createDialer(unshare, null);
  expect(dialer.note).toContain('nsenter');
  const connection = await dialer.connect({ init, home }, 8000);
  const body = await new Promise((resolve, reject) => {
    request({ path: '/state.json', createConnection: () => connection as Socket }, (response) =>
      resolve(text(response)),
    )
      .on('error', reject)
      .end();
  });
  expect(JSON.parse(body as string)).toMatchObject({ starts: 1 });
  await expect(dialer.connect({ init, home }, 9999)).rejects.toThrow();
  connection.destroy();
  dialer.close();
});

test('a process that took over the pid of an ended sandbox is never entered', async () => {
  const id = await server.create();
  await server.untilReady(id);
  const home = join(server.dataDir, id);
  const { init } = JSON.parse(readFileSync(join(home, 'sandbox.json'), 'utf8'));
  const dialer = createDialer(unshare);
  await expect(dialer.connect({ init: { ...init, startedAt: '1' }, home }, 8000)).rejects.toThrow(
    'has ended',
  );
  dialer.close();
});
