/** What becomes of commands when their sandbox or the server ends or is stopped; and large files. */

import type { ChildProcess } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connectDataPlane } from '../../activities/sandbox-api/index.js';
import { type BackendName, startSandboxServer } from '../../local/sandbox-server/index.js';
import { execdOf, IDLE, workingBackends } from './execd-support.js';
import {
  API_KEY,
  controlGroupsOf,
  endProcess,
  processesMentioning,
  spawnServer,
  startTestServer,
  type TestServer,
  temporaryFolder,
  until,
} from './support.js';

const MIB = 2 ** 20;
const BACKENDS = await workingBackends();
const TICKING = 'while :; do date +%s%N > /workspace/tick; sleep 0.01; done';

/** A running sandbox, and a command in it that a marker in its command line tells from all others. */
async function withCommand(server: TestServer, spec: Record<string, unknown> = {}) {
  const id = await server.create({ ...IDLE, ...spec });
  const execd = execdOf(server, id);
  const marker = `marker-${randomBytes(8).toString('hex')}`;
  const response = await fetch(`${execd.url}/command`, {
    method: 'POST',
    headers: { 'open-sandbox-api-key': API_KEY },
    body: JSON.stringify({ command: `echo ready; sleep 1000 & sleep 1000; : ${marker}` }),
  });
  await until(() => processesMentioning(marker).length > 0, 'the command');
  const text = response.text();
  text.catch(() => undefined);
  return { id, execd, marker, text };
}

describe.each(BACKENDS)('commands in sandboxes by %s', (backend) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer({ backend });
  });
  afterAll(async () => {
    await server.end();
  });

  test('die at a pause, whose client sees a cut connection; nothing is known of them after the resume', async () => {
    const { id, execd, marker, text } = await withCommand(server);
    const background = (await execd.run({ command: `sleep 1000; : ${marker}`, background: true }))[0]?.text;
    const cut = expect(text).rejects.toThrow();
    expect(await server.call('POST', `/sandboxes/${id}/pause`)).toMatchObject({ status: 202 });
    await cut;
    await server.untilState(id, 'Paused');
    expect(processesMentioning(marker)).toEqual([]);
    const paused = await execd.call('GET', '/ping');
    expect([paused.status, paused.json.code]).toEqual([404, 'LOCAL::POD_IP_NOT_AVAILABLE']);
    await server.call('POST', `/sandboxes/${id}/resume`);
    await server.untilState(id, 'Running');
    expect(await execd.output('echo again')).toBe('again\n');
    expect((await execd.call('GET', `/command/status/${background}`)).status).toBe(404);
  });

  test('die at a deletion, and leave nothing', async () => {
    const { id, execd, marker, text } = await withCommand(server);
    const cut = expect(text).rejects.toThrow();
    await execd.run({ command: 'yes', background: true });
    expect(await server.call('DELETE', `/sandboxes/${id}`)).toMatchObject({ status: 204 });
    await cut;
    expect(processesMentioning(marker)).toEqual([]);
    expect(controlGroupsOf([id])).toEqual([]);
    expect(existsSync(join(server.dataDir, id))).toBe(false);
    expect((await execd.call('GET', '/ping')).json.code).toBe('LOCAL::SANDBOX_NOT_FOUND');
    await until(
      () => openFilesBelow(server.dataDir, id).length === 0,
      'the output of the background command',
    );
  });

  test('cannot be started where the entrypoint has ended', async () => {
    const id = await server.create({ entrypoint: ['false'] });
    await server.untilState(id, 'Failed');
    const { status, json } = await execdOf(server, id).call('POST', '/command', { command: 'true' });
    expect([status, json.code]).toEqual([500, 'LOCAL::NETWORK_MODE_ENDPOINT_UNAVAILABLE']);
  });
});

describe('commands and limits', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(async () => {
    await server.end();
  });

  test('share the memory limit of the sandbox', async () => {
    const id = await server.create({ ...IDLE, resourceLimits: { memory: '64Mi' } });
    const events = await execdOf(server, id).run(
      `node -e 'const all = []; for (;;) all.push(Buffer.alloc(${MIB}, 1))'`,
    );
    expect(events.at(-1)?.type).toBe('error');
    expect(await server.state(id)).toBe('Running');
  });

  test('are not seen by other sandboxes', async () => {
    const { marker, id } = await withCommand(server);
    const other = execdOf(server, await server.create(IDLE));
    expect(await other.output(`grep -l ${marker} /proc/[0-9]*/cmdline | grep -v self || true`)).not.toContain(
      'proc/2/',
    );
    expect(
      await other.output(`ls /workspace; cat /proc/*/environ | tr "\\0" "\\n" | grep ${id} || true`),
    ).toBe('');
  });
});

describe.each(BACKENDS)('a frozen sandbox by %s', (backend) => {
  test('stops its commands, hangs with new ones, and lets all of them go on', async () => {
    const server = await startTestServer({ backend, pauseKind: 'frozen', answerTimeoutMs: 5000 });
    try {
      const id = await server.create(IDLE);
      const execd = execdOf(server, id);
      await execd.run({ command: TICKING, background: true });
      const tick = () => readFileSync(join(server.dataDir, id, 'workspace/tick'), 'utf8');
      await until(() => existsSync(join(server.dataDir, id, 'workspace/tick')) && tick() !== '', 'a tick');
      await server.call('POST', `/sandboxes/${id}/pause`);
      await server.untilState(id, 'Paused');
      const before = tick();
      const hanging = execd.output('echo thawed');
      await sleep(200);
      expect(tick()).toBe(before);
      await server.call('POST', `/sandboxes/${id}/resume`);
      expect(await hanging).toBe('thawed\n');
      await until(() => tick() !== before, 'the next tick');
    } finally {
      await server.end();
    }
  });
});

describe('a server that is killed in the middle of a command', () => {
  let dataDir: string;
  let backend: BackendName;
  const children: ChildProcess[] = [];
  beforeEach(() => {
    dataDir = temporaryFolder();
  });
  afterEach(async () => {
    for (const child of children.splice(0)) await endProcess(child, 'SIGKILL');
    const server = await startSandboxServer({ dataDir, port: 0, apiKey: API_KEY, backend });
    await server.close({ deleteAll: true });
    rmSync(dataDir, { recursive: true, force: true });
  });
  const spawn = async () => {
    const { client, child } = await spawnServer(dataDir, 'ignore', ['--backend', backend]);
    children.push(child);
    return { client, child };
  };

  test.each(BACKENDS)('leaves nothing of it, by %s', async (name) => {
    backend = name;
    const first = await spawn();
    const id = await first.client.create(IDLE);
    const execd = execdOf(first.client, id);
    const marker = `marker-${randomBytes(8).toString('hex')}`;
    const broken = Promise.allSettled([
      execd.run(`sleep 1000 & sleep 1000; : ${marker}`),
      execd.run(`yes ${marker}`),
      execd.upload(['metadata', '{"path":"/workspace/half"}'], ['file', new Blob([Buffer.alloc(64 * MIB)])]),
    ]);
    await execd.run({ command: `yes; : ${marker}`, background: true });
    await until(() => processesMentioning(marker).length >= 3, 'the commands');
    await endProcess(first.child, 'SIGKILL');
    await broken;
    await until(() => processesMentioning(marker).length === 0, 'the end of the commands');
    expect(readdirSync(join(dataDir, id)).filter((name) => name.startsWith('spool'))).toEqual([]);

    const second = await spawn();
    expect(await second.client.state(id)).toBe('Running');
    expect(await execdOf(second.client, id).output('echo again')).toBe('again\n');
    await second.client.call('DELETE', `/sandboxes/${id}`);
    await endProcess(second.child, 'SIGTERM');
    expect(processesMentioning(dataDir)).toEqual([]);
    expect(controlGroupsOf([id])).toEqual([]);
  });
});

describe('large files', () => {
  test('go up and down in constant memory of the server', async () => {
    const dataDir = temporaryFolder();
    const { client, child } = await spawnServer(dataDir);
    const id = await client.create(IDLE);
    const plane = connectDataPlane({ apiUrl: client.url, apiKey: API_KEY });
    try {
      await plane.uploadFile(id, '/workspace/small', 'x');
      const peakBefore = peakMemory(child.pid);
      const block = randomBytes(MIB);
      const sent = createHash('sha256');
      const blocks = function* () {
        for (let index = 0; index < 200; index++) {
          sent.update(block);
          yield block;
        }
      };
      await plane.uploadFile(id, '/workspace/large', Readable.from(blocks()));
      const download = await plane.downloadFile(id, '/workspace/large');
      expect(download?.sizeBytes).toBe(200 * MIB);
      const received = createHash('sha256');
      for await (const chunk of download?.body ?? []) received.update(chunk as Buffer);
      expect(received.digest('hex')).toBe(sent.digest('hex'));
      expect(peakMemory(child.pid) - peakBefore).toBeLessThan(80 * MIB);
    } finally {
      await plane.close();
      await client.call('DELETE', `/sandboxes/${id}`);
      await endProcess(child, 'SIGTERM');
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});

/** Most bytes that a process has ever held. */
function peakMemory(pid: number | undefined): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

/** Files of a sandbox that this process holds, also those without a name. */
function openFilesBelow(dataDir: string, id: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`);
      return target.startsWith(join(dataDir, id)) ? [target] : [];
    } catch {
      return [];
    }
  });
}
