import { describe, expect, it } from 'vitest';
import { NO_LIMITS } from '../../contract/job-settings.js';
import { CONFIGURE_UPDATE, RESUME_SIGNAL } from '../../contract/messages.js';
import {
  done,
  nothingHappensForMonths,
  ready,
  type Script,
  useTimeSkipping,
  withSettings,
} from './job-harness.js';

const { withJob, inMs } = useTimeSkipping();

const HOUR_MS = 3_600_000;
const doneAfter =
  (count: number): NonNullable<Script['watchSandbox']> =>
  (watch, number) => {
    if (watch.mode === 'starting') return ready(number);
    return number <= count ? nothingHappensForMonths() : done(number);
  };
const eightHours = { limits: { ...NO_LIMITS, runningTimeMs: 8 * HOUR_MS } };

describe('a limit', () => {
  it('is warned of at 80 %, pauses the job at 100 %, and a raised one lets it go on', async () => {
    const raised = { ...NO_LIMITS, runningTimeMs: 20 * HOUR_MS };
    const script: Script = {
      watchSandbox: doneAfter(1),
      checkSettings: (changes, current) => {
        expect(changes).toEqual({ limits: { runningTime: '20h' } });
        const plan = { periods: [], plannedUntil: '2099-01-01T00:00:00.000Z' };
        return { kind: 'accepted', settings: { ...current, limits: raised }, plan, changed: ['limits'] };
      },
    };
    await withJob(
      script,
      async (job, calls, env) => {
        await job.until(({ phase }) => phase === 'running');
        await env.sleep('6.5 hours');
        const warned = await job.until(({ warnings }) => warnings.length > 0);
        expect(warned.warnings[0]).toMatch(/80 % of runningTime \(8h\)/);
        expect(warned.phase).toBe('running');
        await env.sleep('2 hours');
        const held = await job.until(({ phase }) => phase === 'paused');
        expect(held.holds).toMatchObject([
          { kind: 'budget', reason: 'the limit is reached: runningTime of 8h' },
        ]);
        await job.handle.signal(RESUME_SIGNAL);
        await env.sleep('30 days');
        expect((await job.status()).phase).toBe('paused');
        expect(calls).not.toContain('resume');
        await job.handle.executeUpdate(CONFIGURE_UPDATE, {
          args: [{ by: 'ann', changes: { limits: { runningTime: '20h' } } }],
        });
        const { status } = await job.result();
        expect(status.hours.running).toBeCloseTo(8, 1);
        expect(status.limits).toMatchObject([{ name: 'runningTime', limit: '20h', waived: false }]);
      },
      { spec: withSettings(eightHours) },
    );
  });

  it('ends the job where the spec says so, after a pause in which the agent could save its work', async () => {
    await withJob(
      { watchSandbox: doneAfter(1) },
      async (job, calls) => {
        await expect(job.result()).rejects.toMatchObject({ cause: { type: 'LIMIT_REACHED' } });
        expect(calls.slice(-2)).toEqual(['pause', 'delete']);
      },
      { spec: withSettings({ ...eightHours, onLimit: 'stop' }) },
    );
  });

  it('of cost counts hours of running and of pausing at their rates, and does not stop at a pause', async () => {
    const spec = withSettings({
      limits: { ...NO_LIMITS, cost: 10 },
      rates: { runningPerHour: 4, pausedPerHour: 1, currency: 'EUR' },
    });
    await withJob(
      { watchSandbox: doneAfter(1) },
      async (job, _, env) => {
        await job.until(({ phase }) => phase === 'running');
        await env.sleep('2 hours');
        await job.handle.signal('pause', { by: 'ann', reason: 'x' });
        await job.until(({ phase }) => phase === 'paused');
        expect((await job.status()).holds).toHaveLength(1);
        await env.sleep('2.1 hours');
        const held = await job.until(({ holds }) => holds.length === 2);
        expect(held.cost?.amount).toBeGreaterThanOrEqual(10);
        expect(held.holds.map(({ kind }) => kind)).toEqual(['manual', 'budget']);
        await job.handle.signal(RESUME_SIGNAL, { by: 'ann', force: true });
        const { status } = await job.result();
        expect(status.limits).toMatchObject([{ name: 'cost', limit: '10 EUR', waived: true }]);
      },
      { spec },
    );
  });

  it('of a deadline is reached by the clock on the wall', async () => {
    const deadline = await inMs(5 * HOUR_MS);
    await withJob(
      { watchSandbox: doneAfter(9) },
      async (job) => {
        await expect(job.result()).rejects.toMatchObject({
          cause: { type: 'LIMIT_REACHED', message: expect.stringContaining(deadline) },
        });
      },
      { spec: withSettings({ limits: { ...NO_LIMITS, deadline }, onLimit: 'stop' }) },
    );
  });

  it('that is refused changes nothing, and the live job goes on', async () => {
    await withJob({ watchSandbox: doneAfter(1) }, async (job) => {
      await job.until(({ phase }) => phase === 'running');
      const refused = job.handle.executeUpdate(CONFIGURE_UPDATE, { args: [{ by: 'ann', changes: 7 }] });
      await expect(refused).rejects.toMatchObject({ cause: { type: 'SPEC_INVALID' } });
      expect((await job.status()).phase).toBe('running');
      await job.handle.terminate();
    });
  });
});
