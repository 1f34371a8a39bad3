import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { parseCheckpoint } from '../../activities/watch/parse-checkpoint.js';
import {
  endProcess,
  hasStatus,
  KITS,
  post,
  readNotes,
  readSaved,
  readState,
  spawnAgent,
  startAgent,
  useWorkspace,
  waitForState,
  workspace,
} from './kit-process.js';

const KILLS = 12;

useWorkspace();

/** Of the scenario `count`. */
async function readWhole(): ReturnType<typeof readSaved> {
  const saved = await readSaved();
  const n = saved.state?.n ?? 0;
  if (n > 0) expect(saved.checkpoint).toMatchObject({ step: n, message: `${n}` });
  expect(saved.state?.filler ?? '').toHaveLength((n * 7919) % 400_000);
  return saved;
}

describe.each(KITS)('the $name kit', ({ scenarios }) => {
  const start = (scenario: string, env: Record<string, string> = {}) =>
    startAgent(scenarios, { SCENARIO: scenario, ...env });

  test('publishes a checkpoint that the orchestrator reads', async () => {
    const { url } = await start('done');
    const state = await waitForState(url, hasStatus('done'));
    expect(state).toEqual({
      status: 'done',
      step: 3,
      progress: 1,
      message: 'nearly',
      result: { total: 42 },
      incarnation: 1,
      updatedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    const response = await fetch(`${url}/state.json?again=1`);
    const body = Buffer.from(await response.arrayBuffer());
    expect(parseCheckpoint(response.status, body, 'now')).toMatchObject({
      kind: 'checkpoint',
      result: { total: 42 },
    });
    expect((await fetch(`${url}/nothing`)).status).toBe(404);
    expect((await post(url, '/nudge')).status).toBe(204);
  });

  test(`killed ${KILLS} times at any instant, it has one whole checkpoint on disk, and never an older one than was shown`, async () => {
    let shown = 0;
    let starts = 0;
    const story: string[] = [];
    for (let kill = 0; kill < KILLS; kill += 1) {
      // Every third one while the agent starts.
      const child =
        kill % 3 === 0
          ? spawnAgent(scenarios, { SCENARIO: 'count' })
          : await start('count').then(async (agent) => {
              const { step = 0, incarnation } = await waitForState(
                agent.url,
                ({ step }) => (step ?? 0) > shown,
              );
              expect(incarnation).toBeGreaterThan(starts);
              [shown, starts] = [step, incarnation];
              return agent.child;
            });
      const delayMs = Math.random() * 100;
      const killAtMs = performance.now() + delayMs;
      // Whoever looks meanwhile sees a whole one, too.
      while (performance.now() < killAtMs) await (kill === 0 ? setImmediate() : readWhole());
      await endProcess(child, 'SIGKILL');
      if (kill === 0) continue;
      const { checkpoint } = await readWhole();
      story.push(`${Math.round(delayMs)} ms: step ${checkpoint.step}, shown ${shown}`);
      expect(checkpoint.step, story.join('; ')).toBeGreaterThanOrEqual(shown);
      shown = checkpoint.step ?? 0;
    }
  });

  test('what was done stays done: a later start serves the result, and does not work again', async () => {
    const first = await start('done');
    const { result } = await waitForState(first.url, hasStatus('done'));
    expect(await endProcess(first.child, 'SIGTERM')).toBe(0);
    const second = await start('done');
    for (let look = 0; look < 20; look += 1) {
      expect(await readState(second.url)).toMatchObject({ status: 'done', result, incarnation: 2 });
    }
    expect(await readNotes()).toEqual(['worked']);
    expect(await endProcess(second.child, 'SIGTERM')).toBe(0);
  });

  test('a failure is told for as long as it is asked, and a later start tries again', async () => {
    const first = await start('fail');
    const { error, step } = await waitForState(first.url, hasStatus('failed'));
    expect(error).toEqual({ message: 'the data is empty' });
    expect(step).toBe(3);
    await endProcess(first.child, 'SIGKILL');
    const second = await start('fail');
    await waitForState(second.url, ({ status, incarnation }) => status === 'failed' && incarnation === 2);
    expect(await readNotes()).toEqual(['worked', 'worked']);
  });

  test('an error that nobody catches, and an end without a result, are failures', async () => {
    const thrown = await start('throw');
    const { error } = await waitForState(thrown.url, hasStatus('failed'));
    expect(error?.message).toContain('nobody catches this');
    await endProcess(thrown.child, 'SIGKILL');

    const ended = await start('end');
    const state = await waitForState(ended.url, hasStatus('failed'));
    expect(state.error?.message).toBe('the agent came to its end without saying done or failed');
    expect((await post(ended.url, '/drain')).status).toBe(200);
    expect(await endProcess(ended.child, 'SIGTERM')).toBe(0);
  });

  test('what would not work later is refused at once', async () => {
    const { url } = await start('misuse');
    const { result } = await waitForState(url, hasStatus('done'));
    expect(result).toEqual([
      'ask within a unit: a drain would wait for it in vain',
      expect.stringMatching(/^sleep_?[uU]ntil within a unit/),
      expect.stringMatching(/^a question needs a text, and an id/),
      expect.stringMatching(/^sleep_?[uU]ntil needs a date/),
      expect.stringMatching(/^progress must be a number/),
    ]);
    await expect.poll(readNotes, { timeout: 20_000 }).toEqual(['the agent has said done already']);
  });

  test('a second agent on the same port, and a workspace that cannot be written, end the process with the reason', async () => {
    const { url } = await start('units');
    const port = new URL(url).port;
    await expect(start('units', { LONGHAUL_PORT: port })).rejects.toThrow(
      /EADDRINUSE|Address already in use/,
    );
    await writeFile(join(workspace, 'file'), '');
    const below = join(workspace, 'file/workspace');
    await expect(start('units', { LONGHAUL_WORKSPACE: below })).rejects.toThrow(/ENOTDIR|NotADirectoryError/);
  });

  test('starts are counted in the workspace, unless the orchestrator knows of more', async () => {
    const first = await start('units');
    expect((await readState(first.url)).incarnation).toBe(1);
    await endProcess(first.child, 'SIGKILL');
    const second = await start('units', { LONGHAUL_INCARNATION: '1' });
    expect((await readState(second.url)).incarnation).toBe(2);
    await endProcess(second.child, 'SIGKILL');
    const recreated = await start('units', { LONGHAUL_INCARNATION: '7' });
    expect((await readState(recreated.url)).incarnation).toBe(7);
    await post(recreated.url, '/drain', {}, { 'longhaul-incarnation': '9' });
    expect((await readState(recreated.url)).incarnation).toBe(9);
    await endProcess(recreated.child, 'SIGKILL');
    expect((await readState((await start('units')).url)).incarnation).toBe(10);
  });
});
