/** The pause that stops processes where they are, as docker's does. */

import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { plain } from '../../local/sandbox-server/backends/plain.js';
import { unshare } from '../../local/sandbox-server/backends/unshare.js';
import { freeze, thaw } from '../../local/sandbox-server/freezer.js';
import {
  AGENT,
  controlGroupsOf,
  endProcess,
  processesMentioning,
  spawnServer,
  startTestServer,
  type TestServer,
  temporaryFolder,
  until,
} from './support.js';

/** Counts in a file, so that it can be seen whether it runs. */
const TICKING = `${AGENT}
let ticks = 0;
setInterval(() => fs.writeFileSync(file('ticks'), String(++ticks)), 10);`;
const ticking = { entrypoint: ['node', '-e', TICKING] };

const ticksOf = (dataDir: string, id: string) => readFileSync(join(dataDir, id, 'workspace/ticks'), 'utf8');
const untilTicking = async (dataDir: string, id: string) => {
  await until(() => existsSync(join(dataDir, id, 'workspace/ticks')), 'the first tick');
  const before = ticksOf(dataDir, id);
  await until(() => ticksOf(dataDir, id) !== before, 'a tick');
};
const expectNoTick = async (dataDir: string, id: string) => {
  const before = ticksOf(dataDir, id);
  await sleep(100);
  expect(ticksOf(dataDir, id)).toBe(before);
};

describe('a frozen pause', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer({ pauseKind: 'frozen', answerTimeoutMs: 1000 });
  });
  afterAll(async () => {
    await server.end();
  });
  const post = (id: string, verb: string) => server.call('POST', `/sandboxes/${id}/${verb}`);
  const proxied = (id: string, port = 8000) => `/sandboxes/${id}/proxy/${port}/state.json`;

  test('stops the process at once, and resume lets the same one go on', async () => {
    const id = await server.create(ticking);
    const before = await server.untilReady(id);
    await untilTicking(server.dataDir, id);
    const since = (await server.call('GET', `/sandboxes/${id}`)).json.status.lastTransitionAt;
    expect(await post(id, 'pause')).toMatchObject({ status: 202, text: '' });
    expect((await server.call('GET', `/sandboxes/${id}`)).json.status).toEqual({
      state: 'Paused',
      reason: 'CONTAINER_PAUSED',
      message: 'Sandbox container is paused.',
      lastTransitionAt: since,
    });
    await expectNoTick(server.dataDir, id);
    const again = await post(id, 'pause');
    expect([again.status, again.json.code]).toEqual([409, 'LOCAL::SANDBOX_NOT_RUNNING']);

    expect(await post(id, 'resume')).toMatchObject({ status: 202, text: '' });
    const { state, lastTransitionAt } = (await server.call('GET', `/sandboxes/${id}`)).json.status;
    expect([state, lastTransitionAt]).toEqual(['Running', since]);
    expect(await server.untilReady(id)).toEqual(before);
    await untilTicking(server.dataDir, id);
    expect(existsSync(join(server.dataDir, id, 'workspace/stopped'))).toBe(false);
    const twice = await post(id, 'resume');
    expect([twice.status, twice.json.code]).toEqual([409, 'LOCAL::SANDBOX_NOT_PAUSED']);
  });

  test('leaves requests hanging, which are answered after the resume, or are a 504', async () => {
    const id = await server.create();
    await server.untilReady(id);
    await post(id, 'pause');
    const waiting = server.call('GET', proxied(id));
    const atGateway = fetch(`${server.gatewayUrl}/state.json`, {
      headers: { 'OpenSandbox-Ingress-To': `${id}-8000` },
    });
    const refused = await server.call('GET', proxied(id, 9999));
    expect([refused.status, refused.json.code]).toEqual([502, 'BACKEND_CONNECTION_FAILED']);
    expect(await server.call('GET', `/sandboxes/${id}/endpoints/8000`)).toMatchObject({ status: 200 });
    expect((await server.call('GET', `/sandboxes/${id}/diagnostics/logs`)).text).toBe('agent start 1\n');
    await sleep(100);
    await post(id, 'resume');
    expect(await waiting).toMatchObject({ status: 200 });
    expect((await atGateway).status).toBe(200);

    await post(id, 'pause');
    const late = await server.call('GET', proxied(id));
    expect([late.status, late.json.code]).toEqual([504, 'BACKEND_TIMEOUT']);
  });

  test('ends with the sandbox: by deletion and by expiry', async () => {
    const ids = [await server.create(ticking), await server.create({ ...ticking, timeout: 60 })];
    for (const id of ids) {
      await server.untilReady(id);
      await post(id, 'pause');
    }
    const [deleted = '', expired = ''] = ids;
    expect(await server.call('DELETE', `/sandboxes/${deleted}`)).toMatchObject({ status: 204 });
    const expiresAt = new Date(Date.now() + 100).toISOString();
    await server.call('POST', `/sandboxes/${expired}/renew-expiration`, { expiresAt });
    await server.untilState(expired, '404');
    await until(() => ids.every((id) => !existsSync(join(server.dataDir, id))), 'the folders');
    expect(controlGroupsOf(ids)).toEqual([]);
    expect(ids.flatMap(processesMentioning)).toEqual([]);
  });

  test('is answered by Failed once its process has been killed and would go on', async () => {
    const id = await server.create();
    const home = join(server.dataDir, id);
    await server.untilReady(id);
    await post(id, 'pause');
    process.kill(JSON.parse(readFileSync(join(home, 'sandbox.json'), 'utf8')).init?.pid, 'SIGKILL');
    await post(id, 'resume');
    await server.untilState(id, 'Failed');
  });
});

describe('a server with frozen sandboxes', () => {
  let dataDir: string;
  beforeEach(() => {
    dataDir = temporaryFolder();
  });
  afterEach(() => {
    rmSync(dataDir, { recursive: true, force: true });
  });
  const startFrozen = async () => {
    const { client, child } = await spawnServer(dataDir, 'ignore', ['--pause-kind', 'frozen']);
    const id = await client.create(ticking);
    const before = await client.untilReady(id);
    await client.call('POST', `/sandboxes/${id}/pause`);
    await client.untilState(id, 'Paused');
    return { child, id, before };
  };

  test.each(['frozen', 'pod'])('may be killed, and followed by one that pauses as %s', async (kind) => {
    const { child, id, before } = await startFrozen();
    await endProcess(child, 'SIGKILL');
    const next = await spawnServer(dataDir, 'ignore', ['--pause-kind', kind]);
    expect(await next.client.state(id)).toBe('Paused');
    await expectNoTick(dataDir, id);
    await next.client.call('POST', `/sandboxes/${id}/resume`);
    expect(await next.client.untilReady(id)).toEqual(before);
    await untilTicking(dataDir, id);
    await next.client.call('DELETE', `/sandboxes/${id}`);
    await endProcess(next.child, 'SIGTERM');
  });

  test('ends the pause of one that was killed in the way in which it was begun', async () => {
    const first = await spawnServer(dataDir);
    const deaf = `trap "" TERM; echo x >>starts; while :; do sleep 0.05; done`;
    const id = await first.client.create({ entrypoint: ['/bin/sh', '-c', deaf] });
    const starts = () => readFileSync(join(dataDir, id, 'workspace/starts'), 'utf8').length / 2;
    await until(() => existsSync(join(dataDir, id, 'workspace/starts')), 'the start');
    await first.client.call('POST', `/sandboxes/${id}/pause`);
    expect(await first.client.state(id)).toBe('Pausing');
    await endProcess(first.child, 'SIGKILL');
    const next = await spawnServer(dataDir, 'ignore', ['--pause-kind', 'frozen']);
    await next.client.untilState(id, 'Paused');
    expect(processesMentioning('trap "" TERM; echo x')).toEqual([]);
    await next.client.call('POST', `/sandboxes/${id}/resume`);
    await until(() => starts() === 2, 'the second start');
    await next.client.call('DELETE', `/sandboxes/${id}`);
    await endProcess(next.child, 'SIGTERM');
  });

  test('ends them when it is stopped; they start anew on the same workspace', async () => {
    const { child, id } = await startFrozen();
    await endProcess(child, 'SIGTERM');
    expect(processesMentioning(dataDir)).toEqual([]);
    expect(controlGroupsOf([id])).toEqual([]);
    const next = await spawnServer(dataDir);
    expect(await next.client.state(id)).toBe('Paused');
    await next.client.call('POST', `/sandboxes/${id}/resume`);
    expect(await next.client.untilReady(id)).toMatchObject({ starts: 2 });
    await next.client.call('DELETE', `/sandboxes/${id}`);
    await endProcess(next.child, 'SIGTERM');
  });
});

describe.each(['unshare', 'plain'] as const)('without control groups, in the back end %s', (name) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer({ backend: name });
  });
  afterAll(async () => {
    await server.end();
  });

  test('signals stop all processes of a sandbox, and let them go on', async () => {
    const backend = name === 'plain' ? plain : unshare;
    const script = `node -e "$AGENT" & setsid sh -c 'while :; do date +%N >/workspace/daemon; sleep 0.01; done' & wait`;
    const id = await server.create({ entrypoint: ['/bin/sh', '-c', script], env: { AGENT: TICKING } });
    await server.untilReady(id);
    const home = join(server.dataDir, id);
    const { uid, outer, init } = JSON.parse(readFileSync(join(home, 'sandbox.json'), 'utf8'));
    const place = { id, uid, home, image: null, volume: null };
    const daemon = () => readFileSync(join(home, 'workspace/daemon'), 'utf8');
    await freeze('signals', { cgroups: null, backend }, place, { outer, init });
    const before = daemon();
    await expectNoTick(server.dataDir, id);
    expect(daemon()).toBe(before);
    thaw('signals', { cgroups: null, backend }, place, { outer, init });
    await untilTicking(server.dataDir, id);
    await until(() => daemon() !== before, 'the daemon');
  });
});
