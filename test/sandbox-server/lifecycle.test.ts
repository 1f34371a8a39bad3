import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { controlGroupsOf, processesMentioning, startTestServer, type TestServer } from './support.js';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(async () => {
  await server.end();
});

const mark = () => `mark-${process.pid}-${Math.random().toString(36).slice(2)}`;

describe('a pause', () => {
  test('ends every process before it is shown, and keeps the workspace', async () => {
    const name = mark();
    const script = `sleep 1000.${name.length} & sh -c 'trap "" TERM; while :; do sleep 0.1; done' ${name} & echo kept > /workspace/file; sleep 1000 # ${name}`;
    const id = await server.create({ entrypoint: ['/bin/sh', '-c', script] });
    expect(processesMentioning(name).length).toBeGreaterThan(0);
    await server.call('POST', `/sandboxes/${id}/pause`);
    await server.untilState(id, 'Paused');
    expect(processesMentioning(name)).toEqual([]);
    expect(controlGroupsOf([id])).toEqual([]);
    expect(readdirSync(join(server.dataDir, id, 'workspace'))).toEqual(['file']);
    await server.call('DELETE', `/sandboxes/${id}`);
    expect(existsSync(join(server.dataDir, id))).toBe(false);
  });

  test('tells the entrypoint by SIGTERM, and kills it after a grace when it will not hear', async () => {
    const id = await server.create();
    await server.untilReady(id);
    await server.call('POST', `/sandboxes/${id}/pause`);
    await server.untilState(id, 'Paused');
    expect(existsSync(join(server.dataDir, id, 'workspace/stopped'))).toBe(true);
    await server.call('DELETE', `/sandboxes/${id}`);

    const deaf = await server.create({
      entrypoint: ['/bin/sh', '-c', 'trap "" TERM; echo deaf; while :; do sleep 0.1; done'],
    });
    await expect
      .poll(async () => (await server.call('GET', `/sandboxes/${deaf}/diagnostics/logs`)).text)
      .toBe('deaf\n');
    const sentAt = performance.now();
    expect(await server.call('POST', `/sandboxes/${deaf}/pause`)).toMatchObject({ status: 202 });
    expect(performance.now() - sentAt).toBeLessThan(700);
    expect(await server.state(deaf)).toBe('Pausing');
    for (const verb of ['pause', 'resume']) {
      const { status, json } = await server.call('POST', `/sandboxes/${deaf}/${verb}`);
      expect([status, json.code]).toEqual([409, 'LOCAL::INVALID_STATE']);
    }
    const proxied = await server.call('GET', `/sandboxes/${deaf}/proxy/8000/x`);
    expect([proxied.status, proxied.json.code]).toEqual([404, 'LOCAL::POD_IP_NOT_AVAILABLE']);
    await server.untilState(deaf, 'Paused');
    await server.call('DELETE', `/sandboxes/${deaf}`);
  });

  test('empties the workspace of an ephemeral sandbox', async () => {
    const id = await server.create({ extensions: {} });
    await server.untilReady(id);
    await server.call('POST', `/sandboxes/${id}/pause`);
    await server.untilState(id, 'Paused');
    expect(readdirSync(join(server.dataDir, id, 'workspace'))).toEqual([]);
    await server.call('POST', `/sandboxes/${id}/resume`);
    expect(await server.untilReady(id)).toMatchObject({ starts: 1 });
    await server.call('DELETE', `/sandboxes/${id}`);
  });

  test('of eight at once one is done, and the others hear 409', async () => {
    const id = await server.create();
    await server.untilReady(id);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => server.call('POST', `/sandboxes/${id}/pause`)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([202, ...Array(7).fill(409)]);
    await server.untilState(id, 'Paused');
    const deletes = await Promise.all(
      Array.from({ length: 8 }, () => server.call('DELETE', `/sandboxes/${id}`)),
    );
    expect(deletes.every(({ status }) => status === 204 || status === 404)).toBe(true);
    expect(deletes.some(({ status }) => status === 204)).toBe(true);
  });
});

describe('a state that does not fit', () => {
  test('is answered with 409 and the recorded codes', async () => {
    const id = await server.create({ entrypoint: ['sleep', '100'] });
    const code = async (verb: string) => {
      const { status, json } = await server.call('POST', `/sandboxes/${id}/${verb}`);
      return [status, json?.code];
    };
    expect(await code('resume')).toEqual([409, 'LOCAL::SANDBOX_NOT_PAUSED']);
    await server.call('POST', `/sandboxes/${id}/pause`);
    await server.untilState(id, 'Paused');
    expect(await code('pause')).toEqual([409, 'LOCAL::SANDBOX_NOT_RUNNING']);
    const proxied = await server.call('GET', `/sandboxes/${id}/proxy/8000/x`);
    expect([proxied.status, proxied.json.code]).toEqual([404, 'LOCAL::POD_IP_NOT_AVAILABLE']);
    await server.call('DELETE', `/sandboxes/${id}`);
  });
});

describe('the end of an entrypoint', () => {
  test.each([
    [['/bin/sh', '-c', 'exit 0'], 'Terminated', 'CONTAINER_EXITED', 'exited successfully'],
    [['/bin/sh', '-c', 'exit 3'], 'Failed', 'CONTAINER_EXITED_ERROR', 'exited with code 3'],
    [['/no/such/program'], 'Failed', 'CONTAINER_EXITED_ERROR', 'exited with code 127'],
    [['/bin/sh', '-c', 'kill -9 $$'], 'Failed', 'CONTAINER_EXITED_ERROR', 'exited with code 137'],
  ])('%j is first Running, then %s', async (entrypoint, state, reason, words) => {
    const created = await server.call('POST', '/sandboxes', {
      image: { uri: 'x' },
      entrypoint,
      resourceLimits: {},
    });
    expect([created.status, created.json.status.state]).toEqual([202, 'Running']);
    const { id } = created.json;
    await server.untilState(id, state);
    const { status } = (await server.call('GET', `/sandboxes/${id}`)).json;
    expect(status).toMatchObject({ state, reason });
    expect(status.message).toContain(words);
    for (const [verb, code] of [
      ['pause', 'LOCAL::SANDBOX_NOT_RUNNING'],
      ['resume', 'LOCAL::SANDBOX_NOT_PAUSED'],
    ] as const) {
      expect((await server.call('POST', `/sandboxes/${id}/${verb}`)).json.code).toBe(code);
    }
    const proxied = await server.call('GET', `/sandboxes/${id}/proxy/8000/x`);
    expect([proxied.status, proxied.json.code]).toEqual([500, 'LOCAL::NETWORK_MODE_ENDPOINT_UNAVAILABLE']);
    expect(await server.call('GET', `/sandboxes/${id}/endpoints/8000`)).toMatchObject({ status: 200 });
    await server.call('DELETE', `/sandboxes/${id}`);
  });

  test('leaves its log, which names a program that does not exist', async () => {
    expect(await server.run('/no/such/program || exec /nor/this/one')).toMatch(
      /exec: \/nor\/this\/one: not found/,
    );
  });

  test('takes the daemons along that it has left behind', async () => {
    const name = mark();
    const id = await server.create({
      entrypoint: ['/bin/sh', '-c', `setsid sh -c 'sleep 1000; : ${name}' & exit 0`],
    });
    await server.untilState(id, 'Terminated');
    await expect.poll(() => processesMentioning(name)).toEqual([]);
    await server.call('DELETE', `/sandboxes/${id}`);
  });
});
