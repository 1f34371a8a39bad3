/** Faults of what sandboxes are and are said to be. */

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createSpec, endProcess, spawnServer, startTestServer, type TestServer } from './support.js';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ faults: true });
});
afterEach(async () => {
  await server.call('DELETE', '/__faults');
});
afterAll(async () => {
  await server.end();
});

const order = async (...rules: unknown[]) => {
  expect(await server.call('POST', '/__faults', { rules })).toMatchObject({ status: 201 });
};
const sleeper = (job: string) => ({ entrypoint: ['sleep', '1000'], metadata: { job } });
const verb = async (id: string, name: string) =>
  (await server.call('POST', `/sandboxes/${id}/${name}`)).status;

test('readers are shown states that are over, of deleted sandboxes and before creation, too', async () => {
  const job = 'stale';
  const [kept, other] = [await server.create(sleeper(job)), await server.create(sleeper('fresh'))];
  const marginMs = 1000;
  await sleep(marginMs);
  const pausedAt = performance.now();
  expect(await verb(kept, 'pause')).toBe(202);
  await server.untilState(kept, 'Paused');
  const young = await server.create(sleeper(job));
  const ms = Math.round(performance.now() - pausedAt) + marginMs - 100;
  await order({ fault: { kind: 'stale', ms }, match: { metadata: { job } } });
  const list = async () => {
    const { json } = await server.call('GET', '/sandboxes');
    const items = json.items as { id: string; status: { state: string } }[];
    return Object.fromEntries(items.map(({ id, status }) => [id, status.state]));
  };
  expect(await server.state(kept)).toBe('Running');
  expect(await server.state(young)).toBe('404');
  expect(await list()).toMatchObject({ [kept]: 'Running', [other]: 'Running' });
  expect(await list()).not.toHaveProperty(young);
  expect(await verb(kept, 'pause')).toBe(409);
  await server.untilState(kept, 'Paused');
  await server.untilState(young, 'Running');

  await server.call('DELETE', `/sandboxes/${young}`);
  expect(await server.state(young)).toBe('Running');
  expect(await list()).toHaveProperty(young);
  await server.untilState(young, '404');
});

test('the clock is wrong', async () => {
  const ms = -3_600_000;
  await order({ fault: { kind: 'clock-skew', ms } });
  const isNear = (date: string | null) => Math.abs(Date.parse(date ?? '') - (Date.now() + ms)) < 60_000;
  const { headers, json } = await server.call('POST', '/sandboxes', createSpec({ entrypoint: ['true'] }));
  expect([headers.get('date'), json.createdAt].map(isNear)).toEqual([true, true]);
  const again = (await server.call('GET', `/sandboxes/${json.id}`)).json;
  expect([again.createdAt, again.status.lastTransitionAt].map(isNear)).toEqual([true, true]);
  expect(isNear((await server.call('GET', '/sandboxes')).json.items[0].createdAt)).toBe(true);
});

test('a pause falls back to Running, and the agent never heard of it', async () => {
  const id = await server.create();
  const before = await server.untilReady(id);
  await order({ fault: { kind: 'pause-falls-back', afterMs: 150 }, count: 1 });
  expect(await verb(id, 'pause')).toBe(202);
  expect(await server.state(id)).toBe('Pausing');
  await server.untilState(id, 'Running');
  expect((await server.call('GET', `/sandboxes/${id}`)).json.status.reason).toBe('PAUSE_FAILED');
  expect(await server.untilReady(id)).toEqual(before);
  expect(await verb(id, 'pause')).toBe(202);
  await server.untilState(id, 'Paused');
});

test('Pausing lasts, unless the sandbox is deleted', async () => {
  await order(
    { fault: { kind: 'pausing', forMs: 300 }, count: 1 },
    { fault: { kind: 'pausing', forMs: 1e9 } },
  );
  const id = await server.create(sleeper('pausing'));
  const sentAt = performance.now();
  expect(await verb(id, 'pause')).toBe(202);
  expect(await verb(id, 'pause')).toBe(409);
  await server.untilState(id, 'Paused');
  expect(performance.now() - sentAt).toBeGreaterThan(290);
  expect(await verb(id, 'resume')).toBe(202);
  await server.untilState(id, 'Running');
  expect(await verb(id, 'pause')).toBe(202);
  expect(await server.state(id)).toBe('Pausing');
  expect(await server.call('DELETE', `/sandboxes/${id}`)).toMatchObject({ status: 204 });
});

test('a resume is ignored', async () => {
  const id = await server.create(sleeper('ignored'));
  expect(await verb(id, 'pause')).toBe(202);
  await server.untilState(id, 'Paused');
  await order({ fault: { kind: 'resume-ignored' }, count: 1 });
  expect(await verb(id, 'resume')).toBe(202);
  expect(await server.state(id)).toBe('Paused');
  expect(await verb(id, 'resume')).toBe(202);
  await server.untilState(id, 'Running');
});

test('a create or resume is Pending for some time, or for ever', async () => {
  await order({ fault: { kind: 'pending' } });
  const { status, json } = await server.call('POST', '/sandboxes', createSpec());
  expect([status, json.status.state]).toEqual([202, 'Pending']);
  const { id } = json;
  expect(await server.state(id)).toBe('Pending');
  expect(await verb(id, 'pause')).toBe(409);
  expect(await server.call('DELETE', `/sandboxes/${id}`)).toMatchObject({ status: 204 });
  await server.call('DELETE', '/__faults');

  await order({ fault: { kind: 'pending', forMs: 200 } });
  const slow = await server.create();
  expect(await server.state(slow)).toBe('Pending');
  expect(await server.untilReady(slow)).toMatchObject({ starts: 1 });
  expect(await verb(slow, 'pause')).toBe(202);
  await server.untilState(slow, 'Paused');
  expect(await verb(slow, 'resume')).toBe(202);
  expect(await server.state(slow)).toBe('Pending');
  expect(await server.untilReady(slow)).toMatchObject({ starts: 2 });
});

test('a sandbox is lost', async () => {
  const [lost, other] = [await server.create(), await server.create(sleeper('other'))];
  await server.untilReady(lost);
  await order({ fault: { kind: 'lost-sandbox' }, match: { sandboxId: lost }, count: 1 });
  expect(await server.state(other)).toBe('Running');
  const { status, json } = await server.call('GET', `/sandboxes/${lost}/proxy/8000/state.json`);
  expect([status, json.code]).toEqual([404, 'LOCAL::SANDBOX_NOT_FOUND']);
  expect(readdirSync(server.dataDir)).not.toContain(lost);
});

test('a volume is lost, under a running agent and between pause and resume', async () => {
  const id = await server.create();
  await server.untilReady(id);
  const workspace = join(server.dataDir, id, 'workspace');
  await order({ fault: { kind: 'lost-volume' }, count: 1 });
  expect((await server.call('GET', `/sandboxes/${id}/proxy/8000/files`)).json).toEqual([]);
  expect(await verb(id, 'pause')).toBe(202);
  await server.untilState(id, 'Paused');
  expect(readdirSync(workspace)).toEqual(['stopped']);
  await order({ fault: { kind: 'lost-volume' }, match: { path: '/sandboxes/*/resume' }, count: 1 });
  expect(await verb(id, 'resume')).toBe(202);
  expect(await server.untilReady(id)).toMatchObject({ starts: 1 });
  expect(readdirSync(workspace)).toEqual(['starts']);
});

test('the rules end with the server; what they did to sandboxes does not', async () => {
  const folder = join(server.dataDir, 'other-server');
  const first = await spawnServer(folder, 'ignore', ['--faults']);
  await first.client.call('POST', '/__faults', { rules: [{ fault: { kind: 'pending' }, count: 1 }] });
  const id = await first.client.create();
  expect(await first.client.state(id)).toBe('Pending');
  await endProcess(first.child, 'SIGKILL');
  const second = await spawnServer(folder, 'ignore', ['--faults']);
  expect((await second.client.call('GET', '/__faults')).json.rules).toEqual([]);
  expect(await second.client.untilReady(id)).toMatchObject({ starts: 1 });
  await second.client.call('DELETE', `/sandboxes/${id}`);
  await endProcess(second.child, 'SIGTERM');
});
