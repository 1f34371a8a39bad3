import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from './support.js';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(async () => {
  await server.end();
});

const mounted = (claimName: string, more: object = {}) => ({
  volumes: [{ name: 'w', mountPath: '/workspace', pvc: { claimName, ...more } }],
});
const folder = (claimName: string) => join(server.dataDir, 'volumes', claimName);

test('a named volume outlives its sandbox, a pause, and is written by all that share it', async () => {
  const claim = mounted('shared');
  // At the same moment, on a volume that is not there yet.
  const ids = await Promise.all([server.create(claim), server.create(claim)]);
  for (const id of ids) await server.untilReady(id);
  const [first = '', second = ''] = ids;
  await server.call('POST', `/sandboxes/${first}/pause`);
  await server.untilState(first, 'Paused');
  expect((await server.call('GET', `/sandboxes/${second}/proxy/8000/files`)).json.sort()).toEqual([
    'starts',
    'stopped',
  ]);
  await server.call('POST', `/sandboxes/${first}/resume`);
  expect((await server.untilReady(first)).starts).toBeGreaterThan(1);
  for (const id of ids)
    expect(await server.call('DELETE', `/sandboxes/${id}`)).toMatchObject({ status: 204 });
  expect(await server.run('ls; touch /workspace/more && echo written', claim)).toBe(
    'starts\nstopped\nwritten\n',
  );
});

test('the last sandbox takes along a volume that it was told to delete', async () => {
  const claim = mounted('temporary', { deleteOnSandboxTermination: true });
  const ids = [await server.create(claim), await server.create(claim)];
  for (const id of ids) {
    expect(existsSync(folder('temporary'))).toBe(true);
    await server.call('DELETE', `/sandboxes/${id}`);
  }
  expect(existsSync(folder('temporary'))).toBe(false);
});

test('a volume elsewhere than at /workspace is refused, and not silently left out', async () => {
  const volumes = [{ name: 'd', mountPath: '/data', pvc: { claimName: 'data' } }];
  const { status, json } = await server.call('POST', '/sandboxes', {
    image: { uri: 'x' },
    entrypoint: ['true'],
    resourceLimits: {},
    volumes,
  });
  expect([status, json.code]).toEqual([400, 'VOLUME::MOUNT_PATH_NOT_SUPPORTED']);
  expect(existsSync(folder('data'))).toBe(false);
});
