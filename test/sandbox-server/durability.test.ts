import { once } from 'node:events';
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startSandboxServer } from '../../local/sandbox-server/index.js';
import {
  AGENT,
  API_KEY,
  type Client,
  clientOf,
  controlGroupsOf,
  createSpec,
  endProcess,
  processesMentioning,
  spawnServer,
  temporaryFolder,
} from './support.js';

let dataDir: string;
beforeEach(() => {
  dataDir = temporaryFolder();
});
afterEach(() => {
  rmSync(dataDir, { recursive: true, force: true });
});

async function listAll(client: Client): Promise<string[]> {
  const { json } = await client.call('GET', '/sandboxes?pageSize=200');
  return json.items.map((item: { id: string }) => item.id);
}

async function deleteAll(client: Client): Promise<void> {
  for (const id of await listAll(client)) {
    expect([204, 404]).toContain((await client.call('DELETE', `/sandboxes/${id}`)).status);
  }
}

const sandboxFolders = () => readdirSync(dataDir).filter((name) => /^[0-9a-f]{8}-/.test(name));

describe('a server that is killed', () => {
  test('is followed by one that goes on with the same sandboxes and processes', async () => {
    const first = await spawnServer(dataDir);
    const running = await first.client.create();
    const before = await first.client.untilReady(running);
    const paused = await first.client.create();
    await first.client.untilReady(paused);
    await first.client.call('POST', `/sandboxes/${paused}/pause`);
    await first.client.untilState(paused, 'Paused');
    const ends = await first.client.create({
      entrypoint: ['/bin/sh', '-c', 'while [ ! -e go ]; do sleep 0.01; done; exit 7'],
    });
    await endProcess(first.child, 'SIGKILL');
    writeFileSync(join(dataDir, ends, 'workspace/go'), '');

    const second = await spawnServer(dataDir);
    expect(await listAll(second.client)).toEqual([ends, paused, running]);
    expect(await second.client.untilReady(running)).toEqual(before);
    expect(await second.client.state(paused)).toBe('Paused');
    await second.client.untilState(ends, 'Failed');
    expect((await second.client.call('GET', `/sandboxes/${ends}`)).json.status.message).toContain('code 7');
    await second.client.call('GET', `/sandboxes/${running}/proxy/8000/exit?code=5`);
    await second.client.untilState(running, 'Failed');
    expect((await second.client.call('GET', `/sandboxes/${running}`)).json.status.message).toContain(
      'code 5',
    );
    await second.client.call('POST', `/sandboxes/${paused}/resume`);
    expect(await second.client.untilReady(paused)).toMatchObject({ starts: 2 });
    await deleteAll(second.client);
    await endProcess(second.child, 'SIGTERM');
    expect(sandboxFolders()).toEqual([]);
  });

  test('at random moments of creates, pauses and deletes leaves nothing that cannot be deleted', async () => {
    const mark = `mark-${process.pid}-${Date.now()}`;
    const spec = createSpec({ entrypoint: ['/bin/sh', '-c', `sleep 1000; : ${mark}`] });
    const seen = new Set<string>();
    for (let round = 0; round < 6; round++) {
      const { client, child } = await spawnServer(dataDir);
      const old = await listAll(client).catch(() => []);
      for (const id of old) seen.add(id);
      const quietly = (work: Promise<unknown>) => work.catch(() => undefined);
      const calls = [
        ...Array.from({ length: 4 }, () => quietly(client.call('POST', '/sandboxes', spec))),
        ...old.slice(0, 2).map((id) => quietly(client.call('POST', `/sandboxes/${id}/pause`))),
        ...old.slice(2, 4).map((id) => quietly(client.call('DELETE', `/sandboxes/${id}`))),
      ];
      await sleep(Math.random() * 250);
      await endProcess(child, 'SIGKILL');
      await Promise.all(calls);
    }
    const { client, child } = await spawnServer(dataDir);
    const ids = await listAll(client);
    expect(ids.length).toBeGreaterThan(0);
    for (const id of ids) seen.add(id);
    for (const id of ids)
      await expect.poll(() => client.state(id), { timeout: 10_000 }).toMatch(/^(Running|Paused)$/);
    await deleteAll(client);
    await expect.poll(sandboxFolders, { timeout: 10_000 }).toEqual([]);
    expect(processesMentioning(mark)).toEqual([]);
    expect(controlGroupsOf([...seen])).toEqual([]);
    await endProcess(child, 'SIGTERM');
  }, 60_000);
});

describe('a server that is stopped', () => {
  test('takes the processes along; the next one starts them again on the same workspace', async () => {
    const { child, client } = await spawnServer(dataDir);
    const id = await client.create();
    await client.untilReady(id);
    const paused = await client.create();
    await client.call('POST', `/sandboxes/${paused}/pause`);
    await client.untilState(paused, 'Paused');
    await endProcess(child, 'SIGTERM');
    expect(child.exitCode).toBe(0);
    expect(processesMentioning(dataDir)).toEqual([]);
    expect(controlGroupsOf([id, paused])).toEqual([]);
    expect(existsSync(join(dataDir, id, 'workspace/stopped'))).toBe(true);

    const server = await startSandboxServer({ dataDir, port: 0, apiKey: API_KEY });
    const again = clientOf(server);
    expect(await again.untilReady(id)).toMatchObject({ starts: 2 });
    expect(await again.state(paused)).toBe('Paused');
    await server.close({ deleteAll: true });
    expect(sandboxFolders()).toEqual([]);
    expect(processesMentioning(dataDir)).toEqual([]);
  });

  test('stops when the process that started it is gone, as the end of its standard input tells', async () => {
    const { child, client } = await spawnServer(dataDir, 'pipe');
    await client.create();
    const exited = once(child, 'exit');
    child.stdin?.destroy();
    expect(await exited).toEqual([0, null]);
    expect(processesMentioning(dataDir)).toEqual([]);
  });

  test('needs no API key in its arguments, and shows none', async () => {
    const { child } = await spawnServer(dataDir);
    expect(processesMentioning(API_KEY)).not.toContain(child.pid);
    await endProcess(child, 'SIGTERM');
  });
});

describe('a port that is taken', () => {
  test('is refused without touching what runs', async () => {
    const { child, client } = await spawnServer(dataDir);
    const id = await client.create();
    const before = await client.untilReady(id);
    await endProcess(child, 'SIGKILL');
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    await expect(startSandboxServer({ dataDir, port, apiKey: API_KEY })).rejects.toThrow('EADDRINUSE');
    other.close();
    const server = await startSandboxServer({ dataDir, port: 0, apiKey: API_KEY });
    expect(await clientOf(server).untilReady(id)).toEqual(before);
    await server.close({ deleteAll: true });
  });
});

describe('the data folder', () => {
  test('is for one server at a time; the lock of a dead one is taken over', async () => {
    const { child } = await spawnServer(dataDir);
    const start = () => startSandboxServer({ dataDir, port: 0, apiKey: API_KEY });
    await expect(start()).rejects.toThrow(`in use by another sandbox server (process ${child.pid})`);
    await endProcess(child, 'SIGKILL');
    const server = await start();
    await expect(start()).rejects.toThrow(`(process ${process.pid})`);
    await server.close();
    expect(existsSync(join(dataDir, 'lock'))).toBe(false);
  });

  test('does not go on without isolation where sandboxes were isolated', async () => {
    const options = { dataDir, port: 0, apiKey: API_KEY };
    const server = await startSandboxServer(options);
    if (server.backend !== 'plain') {
      await clientOf(server).create();
      await server.close();
      await expect(startSandboxServer({ ...options, backend: 'plain' })).rejects.toThrow(
        'were run as "isolated',
      );
      await (await startSandboxServer(options)).close({ deleteAll: true });
      await (await startSandboxServer({ ...options, backend: 'plain' })).close();
    }
  });

  test('is closed to other users of the machine', async () => {
    const server = await startSandboxServer({ dataDir, port: 0, apiKey: API_KEY });
    expect(statSync(dataDir).mode & 0o077).toBe(0);
    await clientOf(server).create({ entrypoint: ['node', '-e', AGENT] });
    await server.close({ deleteAll: true });
  });
});
