import { afterEach, describe, expect, it } from 'vitest';
import type { WatchCursor, WatchInput } from '../../contract/activities.js';
import { answerWith, type Fault, fakeSandboxes, first } from '../support/fake-sandboxes.js';
import { html, json, stall } from '../support/scripted-api.js';
import { activitiesAt, attempt, checkpoint, owner, profile, retried, spec } from './harness.js';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

async function world(...args: Parameters<typeof fakeSandboxes>) {
  const fake = await fakeSandboxes(...args);
  const { activities, close } = activitiesAt(fake.api.url);
  open.push(fake, { close });
  await retried(activities.createSandbox, { owner, epoch: 1, sandbox: spec });
  const sandbox = fake.sandboxes.get('sb-1');
  if (sandbox === undefined) throw new Error('not created');
  return { fake, activities, sandbox };
}

function input(mode: WatchInput['mode'], more: Partial<WatchInput> = {}): WatchInput {
  return { sandbox: { id: 'sb-1', incarnation: 1 }, checkpoint, profile, mode, cursor: null, ...more };
}

/** Waits for a heartbeat that is so. */
function beat(
  running: ReturnType<typeof attempt>,
  isSo: (cursor: WatchCursor) => boolean,
): Promise<WatchCursor> {
  return new Promise((resolve) => {
    running.environment.on('heartbeat', (cursor: WatchCursor) => isSo(cursor) && resolve(cursor));
  });
}

describe('a watch', () => {
  it('is ready at the first good answer, after an agent that took its time to listen', async () => {
    const { activities, sandbox } = await world();
    sandbox.checkpoint = null;
    const running = attempt(activities.watchSandbox, input('starting'));
    await beat(
      running,
      ({ verdict, because }) => verdict === 'starting' && because.includes('BACKEND_CONNECTION_FAILED'),
    );
    sandbox.checkpoint = { status: 'running', step: 7 };
    expect(await running.outcome).toMatchObject({ kind: 'ready', cursor: { checkpoint: { step: 7 } } });
  });

  it('gives the result of an agent that is done', async () => {
    const { activities, sandbox } = await world();
    sandbox.checkpoint = { status: 'done', step: 9, result: { answer: 42 } };
    expect(await retried(activities.watchSandbox, input('running'))).toMatchObject({
      kind: 'done',
      result: { answer: 42 },
      resultOmittedBytes: null,
    });
  });

  it('leaves out a result that is too large for a history, and says how large', async () => {
    const { activities, sandbox } = await world();
    sandbox.checkpoint = { status: 'done', result: 'x'.repeat(200_000) };
    expect(await retried(activities.watchSandbox, input('running'))).toMatchObject({
      kind: 'done',
      result: null,
      resultOmittedBytes: 200_002,
    });
  });

  it('goes on with the last good checkpoint through HTML, errors and time-outs', async () => {
    const bad = [answerWith(html(502)), answerWith(html(200)), answerWith(json(500, {})), answerWith(stall)];
    const faults: Fault = (context) => bad[context.nth - 2]?.(context) ?? false;
    const { activities, sandbox } = await world({ 'before proxy': faults });
    sandbox.checkpoint = { status: 'running', step: 40 };
    const running = attempt(activities.watchSandbox, input('running'));
    const seen: (number | null | undefined)[] = [];
    running.environment.on('heartbeat', (cursor: WatchCursor) => seen.push(cursor.checkpoint?.step));
    await beat(running, () => seen.length === 5);
    sandbox.checkpoint = { status: 'done', step: 41 };
    expect(await running.outcome).toMatchObject({ kind: 'done' });
    expect(seen.slice(0, 5)).toEqual([40, 40, 40, 40, 40]);
  });

  it('says that a checkpoint is too large, with both sizes, and goes on', async () => {
    const { activities, sandbox } = await world();
    sandbox.checkpoint = { status: 'running', step: 1, filler: 'x'.repeat(5_000_000) };
    const running = attempt(activities.watchSandbox, input('running'));
    const cursor = await beat(running, ({ unreadableReads }) => unreadableReads > 0);
    expect(cursor.because).toMatch(/too large: \d+ bytes, the limit is 1048576/);
    running.environment.cancel('CANCELLED');
    await running.outcome.catch(() => {});
  });

  it('ends at once when it is cancelled, also in the middle of an answer that stalls', async () => {
    const { activities } = await world({ 'before proxy': answerWith(stall) });
    const running = attempt(activities.watchSandbox, input('running'));
    await new Promise((resolve) => setTimeout(resolve, 200));
    const cancelledAt = Date.now();
    running.environment.cancel('CANCELLED');
    await expect(running.outcome).rejects.toMatchObject({ name: 'CancelledFailure' });
    expect(Date.now() - cancelledAt).toBeLessThan(500);
  });

  it('is ended by a pause in the same process, before any heartbeat', async () => {
    const { activities, fake } = await world();
    const running = attempt(activities.watchSandbox, input('running'));
    await beat(running, () => true);
    await retried(activities.pauseSandbox, { sandbox: { id: 'sb-1', incarnation: 1 }, checkpoint });
    expect(await running.outcome).toMatchObject({ kind: 'slice-over' });
    const polls = fake.api.requests.length;
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(fake.api.requests.length).toBe(polls);
  });

  it('notices that somebody else paused the sandbox', async () => {
    const { activities, sandbox } = await world();
    sandbox.state = 'Paused';
    expect(await retried(activities.watchSandbox, input('running'))).toMatchObject({
      kind: 'paused-outside',
    });
  });

  it('notices that the agent has exited, and brings its last words', async () => {
    const { activities, sandbox } = await world();
    sandbox.state = 'Failed';
    expect(await retried(activities.watchSandbox, input('running'))).toMatchObject({
      kind: 'exited',
      logs: 'the last words',
    });
  });

  it('ends with a code when the key is refused', async () => {
    const { activities } = await world({
      'before proxy': answerWith(json(401, { code: 'INVALID_API_KEY', message: 'no' })),
    });
    await expect(retried(activities.watchSandbox, input('running'))).rejects.toMatchObject({
      type: 'API_KEY_REJECTED',
    });
  });

  it('asks the API itself when a bare 403 may be the API or the agent', async () => {
    const refused = answerWith(json(403, {}));
    const byApi = await world({ 'before proxy': refused, 'before list': refused });
    await expect(retried(byApi.activities.watchSandbox, input('running'))).rejects.toMatchObject({
      type: 'API_KEY_REJECTED',
    });
    const byAgent = await world({ 'before proxy': refused });
    const running = attempt(byAgent.activities.watchSandbox, input('running'));
    expect((await beat(running, ({ unreadableReads }) => unreadableReads > 0)).because).toContain(
      'answers 403',
    );
    running.environment.cancel('CANCELLED');
    await running.outcome.catch(() => {});
  });

  it('hands a long wait that the API asks for to Temporal', async () => {
    const limited = answerWith(json(429, {}, { 'retry-after': '3600' }));
    const { activities } = await world({ 'before proxy': limited });
    await expect(attempt(activities.watchSandbox, input('running')).outcome).rejects.toMatchObject({
      type: 'RATE_LIMITED',
      nextRetryDelay: 3_600_000,
    });
  });

  it('waits out a short one itself', async () => {
    const limited = first(1, answerWith(json(429, {}, { 'retry-after': '1' })));
    const { activities, sandbox, fake } = await world({ 'before proxy': limited });
    sandbox.checkpoint = { status: 'done' };
    const startedAt = Date.now();
    expect(await retried(activities.watchSandbox, input('running'))).toMatchObject({ kind: 'done' });
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(1000);
    expect(fake.api.requests.filter((each) => each.includes('/proxy/'))).toHaveLength(2);
  });

  it('goes on where the attempt before stopped', async () => {
    const { activities, sandbox } = await world();
    const before = attempt(activities.watchSandbox, input('running'));
    const cursor = await beat(before, ({ checkpoint: seen }) => seen !== null);
    before.environment.cancel('WORKER_SHUTDOWN');
    await before.outcome.catch(() => {});
    sandbox.checkpoint = null;
    const after = attempt(activities.watchSandbox, input('running'), {
      attempt: 2,
      heartbeatDetails: cursor,
    });
    expect(await beat(after, () => true)).toMatchObject({
      checkpoint: { step: 1 },
      unchangedSince: cursor.unchangedSince,
    });
    after.environment.cancel('CANCELLED');
    await after.outcome.catch(() => {});
  });

  it('gives back its cursor when its slice is over', async () => {
    const { activities } = await world();
    const outcome = await retried(
      activities.watchSandbox,
      input('running', { profile: { ...profile, sliceMs: 0 } }),
    );
    expect(outcome).toMatchObject({ kind: 'slice-over', cursor: { checkpoint: { step: 1 } } });
  });
});
