import { describe, expect, test } from 'vitest';
import {
  endProcess,
  KITS,
  post,
  readNotes,
  readSaved,
  startAgent,
  useWorkspace,
  waitForState,
} from './kit-process.js';

useWorkspace();

describe.each(KITS)('the $name kit', ({ scenarios }) => {
  const start = (scenario: string, env: Record<string, string> = {}) =>
    startAgent(scenarios, { SCENARIO: scenario, ...env });

  test('a drain is answered when the unit at work has ended and is on disk, and no other one is begun', async () => {
    const { child, url } = await start('units');
    await expect.poll(readNotes, { timeout: 20_000 }).toContain('begin 2');
    const { status, state } = await post(url, '/drain', {}, { 'longhaul-incarnation': '1' });
    expect(status).toBe(200);
    const notes = await readNotes();
    expect(notes.at(-1)).toBe(`end ${state.step}`);
    expect((await readSaved()).checkpoint).toEqual(state);
    // Longer than a unit and all that is between two.
    const until = performance.now() + 600;
    while (performance.now() < until) {
      expect((await post(url, '/drain')).state.step).toBe(state.step);
    }
    expect(await readNotes()).toEqual(notes);
    const stoppedAt = performance.now();
    expect(await endProcess(child, 'SIGTERM')).toBe(0);
    expect(performance.now() - stoppedAt).toBeLessThan(2000);

    const second = await start('units');
    await waitForState(second.url, ({ step = 0 }) => step > (state.step ?? 0));
    const numbers = (await readNotes()).filter((line) => line.startsWith('end')).map((line) => line.slice(4));
    expect(numbers).toEqual(numbers.map((_, index) => String(index + 1)));
  });

  test('a drained agent that nobody stops goes on by itself', async () => {
    const { url } = await start('units', { HOLD_MS: '300' });
    await waitForState(url, ({ step = 0 }) => step >= 1);
    const { state } = await post(url, '/drain');
    await waitForState(url, ({ step = 0 }) => step > (state.step ?? 0) + 1);
  });

  test('on SIGTERM it ends the unit at work, tells the agent, begins nothing, and exits', async () => {
    const { child } = await start('leave');
    await expect.poll(readNotes, { timeout: 20_000 }).toContain('begin');
    expect(await endProcess(child, 'SIGTERM')).toBe(0);
    expect(await readNotes()).toEqual(['begin', 'told to leave', 'end']);
    expect((await readSaved()).checkpoint.step).toBe(1);
  });
});
