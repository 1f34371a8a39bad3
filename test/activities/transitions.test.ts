import { afterEach, describe, expect, it } from 'vitest';
import { answerWith, cutSocket, type Fault, fakeSandboxes, first } from '../support/fake-sandboxes.js';
import { html, json } from '../support/scripted-api.js';
import { activitiesAt, attempt, checkpoint, owner, retried, spec } from './harness.js';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

async function world(...args: Parameters<typeof fakeSandboxes>) {
  const fake = await fakeSandboxes(...args);
  const { activities, close } = activitiesAt(fake.api.url);
  open.push(fake, { close });
  const count = (request: string) => fake.api.requests.filter((each) => each === request).length;
  return { fake, activities, count };
}

const create = { owner, epoch: 1, sandbox: spec };
const running = { sandbox: { id: 'sb-1', incarnation: 1 }, checkpoint };

describe('creating a sandbox', () => {
  it('labels it, so that it can be found again', async () => {
    const { fake, activities } = await world();
    expect(await retried(activities.createSandbox, create)).toMatchObject({
      sandboxId: 'sb-1',
      adopted: false,
    });
    expect(fake.sandboxes.get('sb-1')?.metadata).toEqual({
      'longhaul-job': expect.stringMatching(/^[0-9a-f]{40}$/),
      'longhaul-run': owner.runChainId,
      'longhaul-epoch': '1',
    });
  });

  it('adopts the sandbox whose create was carried out but never answered', async () => {
    const { fake, activities } = await world({ 'after create': first(1, cutSocket) });
    expect(await retried(activities.createSandbox, create)).toMatchObject({
      sandboxId: 'sb-1',
      adopted: true,
    });
    expect(fake.counts.created).toBe(1);
  });

  it('waits for one that shows up in the list only seconds later', async () => {
    const { fake, activities } = await world(
      { 'after create': first(1, cutSocket) },
      { visibleAfterMs: 5000 },
    );
    expect(await retried(activities.createSandbox, create)).toMatchObject({
      sandboxId: 'sb-1',
      adopted: true,
    });
    expect(fake.counts.created).toBe(1);
  });

  it('looks first when an attempt before died without a word', async () => {
    const { fake, activities } = await world();
    await retried(activities.createSandbox, create);
    const second = attempt(activities.createSandbox, create, { attempt: 2 });
    expect(await second.outcome).toMatchObject({ sandboxId: 'sb-1', adopted: true });
    expect(fake.counts.created).toBe(1);
  });

  it('does not look when the attempt before cannot have reached the API', async () => {
    const { activities, count } = await world();
    const second = attempt(activities.createSandbox, create, {
      attempt: 2,
      heartbeatDetails: { mayExist: false },
    });
    await second.outcome;
    expect(count('GET /sandboxes')).toBe(0);
  });

  it('deletes what a failed start may have left behind, and says why', async () => {
    const timeout = json(504, {
      code: 'KUBERNETES::POD_READY_TIMEOUT',
      message: 'Timeout waiting for sandbox sb-1 to be Running with IP.',
    });
    const { fake, activities } = await world({ 'after create': answerWith(timeout) });
    await expect(retried(activities.createSandbox, create)).rejects.toMatchObject({
      type: 'SANDBOX_START_FAILED',
      nonRetryable: true,
      message: expect.stringContaining('POD_READY_TIMEOUT'),
    });
    expect(fake.sandboxes.size).toBe(0);
  });

  it('waits while it is Pending', async () => {
    const { fake, activities } = await world({}, { state: 'Pending' });
    const outcome = retried(activities.createSandbox, create);
    setTimeout(() => {
      (fake.sandboxes.get('sb-1') as { state: string }).state = 'Running';
    }, 300);
    expect(await outcome).toMatchObject({ sandboxId: 'sb-1' });
    expect(fake.counts.created).toBe(1);
  });

  it.each([
    [401, 'INVALID_API_KEY', 'API_KEY_REJECTED'],
    [403, 'KUBERNETES::QUOTA_EXCEEDED', 'QUOTA_EXCEEDED'],
    [400, 'SANDBOX::INVALID_PARAMETER', 'SANDBOX_REJECTED'],
  ])('does not repeat what is refused with %i %s', async (status, code, type) => {
    const { activities, count } = await world({
      'before create': answerWith(json(status, { code, message: 'no' })),
    });
    await expect(retried(activities.createSandbox, create)).rejects.toMatchObject({
      type,
      nonRetryable: true,
    });
    expect(count('POST /sandboxes')).toBe(1);
  });

  it.each([
    ['7', 7000],
    ['-1', undefined],
    ['abc', undefined],
    ['86400', 3_600_000],
  ])('hands a wait of "%s" seconds to Temporal', async (value, delayMs) => {
    const limited = answerWith(json(429, {}, { 'retry-after': value }));
    const { activities } = await world({ 'before create': limited });
    await expect(attempt(activities.createSandbox, create).outcome).rejects.toMatchObject({
      type: 'RATE_LIMITED',
      nextRetryDelay: delayMs,
    });
  });
});

describe('pausing', () => {
  it('reads the last checkpoint, asks, and believes only what it sees', async () => {
    const { fake, activities, count } = await world();
    await retried(activities.createSandbox, create);
    const outcome = await retried(activities.pauseSandbox, running);
    expect(outcome).toMatchObject({ kind: 'paused', checkpoint: { step: 1 } });
    expect(fake.sandboxes.get('sb-1')?.state).toBe('Paused');
    expect(count('POST /sandboxes/sb-1/pause')).toBe(1);
  });

  it('is done when the sandbox is paused already', async () => {
    const { fake, activities } = await world();
    await retried(activities.createSandbox, create);
    (fake.sandboxes.get('sb-1') as { state: string }).state = 'Paused';
    expect(await retried(activities.pauseSandbox, running)).toMatchObject({
      kind: 'paused',
      checkpoint: null,
    });
  });

  it.each<[string, Fault]>([
    ['a cut connection after the work was done', cutSocket],
    ['an error page after the work was done', answerWith(html(502))],
    ['a losing race', answerWith(json(500, { code: 'DOCKER::SANDBOX_PAUSE_FAILED', message: 'no' }))],
  ])('looks what became of it after %s', async (_, fault) => {
    const { activities, count } = await world({ 'after pause': fault });
    await retried(activities.createSandbox, create);
    expect(await retried(activities.pauseSandbox, running)).toMatchObject({ kind: 'paused' });
    expect(count('POST /sandboxes/sb-1/pause')).toBe(1);
  });

  it('is asked for again, not in a hot loop, while the sandbox is still being made', async () => {
    const { fake, activities, count } = await world();
    await retried(activities.createSandbox, create);
    const sandbox = fake.sandboxes.get('sb-1') as { state: string };
    sandbox.state = 'Pending';
    setTimeout(() => {
      sandbox.state = 'Running';
    }, 2500);
    expect(await retried(activities.pauseSandbox, running)).toMatchObject({ kind: 'paused' });
    expect(count('POST /sandboxes/sb-1/pause')).toBe(2);
  });

  it.each([
    [400, { code: 'KUBERNETES::INVALID_STATE', message: 'Pause is not supported for this sandbox type' }],
    [501, { code: 'SANDBOX::API_NOT_SUPPORTED', message: 'no' }],
  ])('says so when the deployment cannot do it (%i)', async (status, body) => {
    const { activities, count } = await world({ 'before pause': answerWith(json(status, body)) });
    await retried(activities.createSandbox, create);
    expect(await retried(activities.pauseSandbox, running)).toMatchObject({ kind: 'unsupported' });
    expect(count('POST /sandboxes/sb-1/pause')).toBe(1);
  });

  it('finds that the agent has exited, with its last words', async () => {
    const { fake, activities } = await world();
    await retried(activities.createSandbox, create);
    (fake.sandboxes.get('sb-1') as { state: string }).state = 'Failed';
    expect(await retried(activities.pauseSandbox, running)).toMatchObject({
      kind: 'exited',
      logs: 'the last words',
    });
  });

  it('finds that the sandbox is gone only when it has looked twice, seconds apart', async () => {
    const { fake, activities } = await world();
    await retried(activities.createSandbox, create);
    fake.sandboxes.clear();
    const startedAt = Date.now();
    expect(await retried(activities.pauseSandbox, running)).toMatchObject({ kind: 'lost' });
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(2900);
  });

  it('is not held up by an agent that hangs', async () => {
    const hang: Fault = () => new Promise(() => {});
    const { activities } = await world({ 'before proxy': hang });
    await retried(activities.createSandbox, create);
    expect(await retried(activities.pauseSandbox, running)).toMatchObject({
      kind: 'paused',
      checkpoint: null,
    });
  });
});

describe('resuming', () => {
  const paused = { sandbox: { id: 'sb-1', incarnation: 1 } };

  it('right after a pause waits for the end of the transition', async () => {
    const { fake, activities, count } = await world();
    await retried(activities.createSandbox, create);
    const sandbox = fake.sandboxes.get('sb-1') as { state: string };
    sandbox.state = 'Pausing';
    setTimeout(() => {
      sandbox.state = 'Paused';
    }, 1500);
    expect(await retried(activities.resumeSandbox, paused)).toMatchObject({ kind: 'running' });
    expect(count('POST /sandboxes/sb-1/resume')).toBe(2);
  });

  it('does not use resume as a restart of a failed sandbox', async () => {
    const { fake, activities } = await world();
    await retried(activities.createSandbox, create);
    (fake.sandboxes.get('sb-1') as { state: string }).state = 'Failed';
    expect(await retried(activities.resumeSandbox, paused)).toMatchObject({ kind: 'exited' });
  });
});

describe('deleting', () => {
  it('finds everything of the job by its labels, and nothing else', async () => {
    const { fake, activities } = await world();
    await retried(activities.createSandbox, create);
    await retried(activities.createSandbox, { ...create, epoch: 2 });
    await retried(activities.createSandbox, { ...create, owner: { ...owner, runChainId: 'another' } });
    const outcome = await retried(activities.deleteSandboxes, { owner, sandboxId: 'sb-1' });
    expect(outcome.deleted.toSorted()).toEqual(['sb-1', 'sb-2']);
    expect([...fake.sandboxes.keys()]).toEqual(['sb-3']);
  });

  it('counts what is gone already as deleted', async () => {
    const { activities } = await world();
    expect(await retried(activities.deleteSandboxes, { owner, sandboxId: 'sb-9' })).toEqual({
      deleted: ['sb-9'],
    });
  });

  it('is repeated until the API confirms it', async () => {
    const { fake, activities } = await world({ 'before delete': first(2, answerWith(html(503))) });
    await retried(activities.createSandbox, create);
    await retried(activities.deleteSandboxes, { owner, sandboxId: 'sb-1' });
    expect(fake.sandboxes.size).toBe(0);
  });

  it('waits for a sandbox that may show up late when no create was ever answered', async () => {
    const { fake, activities } = await world(
      { 'after create': first(1, cutSocket) },
      { visibleAfterMs: 3000 },
    );
    await expect(attempt(activities.createSandbox, create).outcome).rejects.toThrow();
    const outcome = await retried(activities.deleteSandboxes, { owner, sandboxId: null });
    expect(outcome.deleted).toEqual(['sb-1']);
    expect(fake.sandboxes.size).toBe(0);
  });
});
