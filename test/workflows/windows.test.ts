import { describe, expect, it } from 'vitest';
import { PAUSE_SIGNAL, RESUME_SIGNAL } from '../../contract/messages.js';
import type { WindowRule } from '../../contract/windows.js';
import {
  createOnDemand,
  done,
  nothingHappensForMonths,
  ready,
  type Script,
  useTimeSkipping,
  withSettings,
} from './job-harness.js';

const { withJob, inMs } = useTimeSkipping();

const HOUR_MS = 3_600_000;
/** What it says does not matter here: the calendar is scripted. */
const A_RULE = {} as WindowRule;
const input = { spec: withSettings({ pauseWindows: [A_RULE], windowSpreadMs: 0 }) };

/** Nothing happens in the first `count` watches of the running agent, then it is done. */
const doneAfter =
  (count: number): NonNullable<Script['watchSandbox']> =>
  (watch, number) => {
    if (watch.mode === 'starting') return ready(number);
    return number <= count ? nothingHappensForMonths() : done(number);
  };

async function night(fromHours: number, toHours: number) {
  return { start: await inMs(fromHours * HOUR_MS), end: await inMs(toHours * HOUR_MS), reason: 'night' };
}

describe('a job with windows', () => {
  it('is paused once and resumed once in each', async () => {
    const periods = [await night(1, 9), await night(25, 33)];
    await withJob(
      { periods, watchSandbox: doneAfter(2) },
      async (job, calls) => {
        const { status } = await job.result();
        const transitions = calls.filter((call) => call === 'pause' || call === 'resume');
        expect(transitions).toEqual(['pause', 'resume', 'pause', 'resume']);
        expect(status.hours.paused).toBeCloseTo(16, 1);
        expect(status.receipts.filter(({ kind }) => kind === 'pause').map(({ cause }) => cause)).toEqual([
          ['window'],
          ['window'],
        ]);
      },
      input,
    );
  });

  it('that is submitted in one waits for its end before anything is created', async () => {
    const periods = [await night(-1, 5)];
    await withJob(
      { periods, watchSandbox: doneAfter(0) },
      async (job, calls) => {
        const waiting = await job.until(({ holds }) => holds.length > 0);
        expect(waiting).toMatchObject({ phase: 'scheduled', sandbox: null, holds: [{ kind: 'window' }] });
        expect(waiting.waitingFor?.what).toContain(`the end of a window until ${periods[0]?.end}`);
        expect(calls).toEqual([]);
        await job.result();
        expect(calls.filter((call) => call === 'create')).toHaveLength(1);
        expect(calls).not.toContain('pause');
      },
      input,
    );
  });

  it('runs on when it is resumed in one, shows the override, and is paused again in the next', async () => {
    const periods = [await night(-1, 5), await night(20, 28)];
    await withJob(
      { periods, watchSandbox: doneAfter(2) },
      async (job, calls, env) => {
        await job.until(({ holds }) => holds.length > 0);
        await job.handle.signal(RESUME_SIGNAL, { by: 'ann' });
        const running = await job.until(({ phase }) => phase === 'running');
        expect(running).toMatchObject({
          holds: [],
          overrideUntil: periods[0]?.end,
          nextEdge: { at: periods[1]?.start, does: 'pause' },
        });
        await env.sleep('8 hours');
        expect(calls).not.toContain('pause');
        expect((await job.status()).overrideUntil).toBeNull();
        await env.sleep('14 hours');
        const paused = await job.until(({ phase }) => phase === 'paused');
        expect(paused.holds).toMatchObject([{ kind: 'window', reason: 'night', until: periods[1]?.end }]);
        await job.result();
        expect(calls.filter((call) => call === 'resume')).toHaveLength(1);
      },
      input,
    );
  });

  it('stays paused by hand when a window ends', async () => {
    const periods = [await night(1, 2)];
    await withJob(
      { periods, watchSandbox: doneAfter(1) },
      async (job, calls, env) => {
        await job.until(({ phase }) => phase === 'running');
        await job.handle.signal(PAUSE_SIGNAL, { by: 'ann', reason: 'a look' });
        await job.until(({ phase }) => phase === 'paused');
        await env.sleep('3 hours');
        expect((await job.status()).holds).toMatchObject([{ kind: 'manual', by: 'ann' }]);
        expect(calls).not.toContain('resume');
        await job.handle.signal(RESUME_SIGNAL);
        await job.result();
        expect(calls.filter((call) => call === 'pause')).toHaveLength(1);
      },
      input,
    );
  });

  it('is paused after its sandbox was made, when a window opens meanwhile', async () => {
    const periods = [await night(0.001, 2)];
    const { createSandbox, finish } = createOnDemand('sb-1');
    await withJob(
      { periods, createSandbox, watchSandbox: doneAfter(0) },
      async (job, calls) => {
        await job.until(({ phase }) => phase === 'provisioning');
        await new Promise((resolve) => setTimeout(resolve, 4000));
        finish();
        await job.until(({ phase }) => phase === 'paused');
        expect(calls).toEqual(['create', 'pause']);
        await job.result();
      },
      input,
    );
  });

  it('pauses by hand for a time, and goes on by itself', async () => {
    const until = await inMs(3 * HOUR_MS);
    await withJob({ watchSandbox: doneAfter(1) }, async (job, calls) => {
      await job.until(({ phase }) => phase === 'running');
      await job.handle.signal(PAUSE_SIGNAL, { by: 'ann', reason: 'lunch', until });
      const { status } = await job.result();
      expect(calls.filter((call) => call === 'resume')).toHaveLength(1);
      expect(status.hours.paused).toBeCloseTo(3, 1);
    });
  });
});
