/**
 * Random sequences of everything that can hold a job, against a model of one line: the job runs exactly while
 * its set of holds is empty. A failing run is told with its moves.
 */

import { Context } from '@temporalio/activity';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { NO_LIMITS, type WindowPlan } from '../../contract/job-settings.js';
import { CONFIGURE_UPDATE, PAUSE_SIGNAL, RESUME_SIGNAL } from '../../contract/messages.js';
import type { WindowRule } from '../../contract/windows.js';
import {
  nothingHappensForMonths,
  profile,
  ready,
  type Script,
  useTimeSkipping,
  withSettings,
} from './job-harness.js';

const { withJob, inMs } = useTimeSkipping();

const MINUTE_MS = 60_000;
/** Two windows an hour, so that random waits meet their edges. */
const PERIOD_MINUTES = { every: 30, length: 10 };
const SPAN_HOURS = 72;

type Move =
  | { readonly do: 'pause' | 'resume'; readonly hold: 'manual' | 'fleet' }
  | { readonly do: 'force' }
  | { readonly do: 'limit'; readonly on: boolean }
  | { readonly do: 'garbage' }
  | { readonly do: 'wait'; readonly minutes: number };

const move: fc.Arbitrary<Move> = fc.oneof(
  fc.record({
    do: fc.constantFrom('pause' as const, 'resume' as const),
    hold: fc.constantFrom('manual' as const, 'fleet' as const),
  }),
  fc.constant({ do: 'force' } as const),
  fc.record({ do: fc.constant('limit' as const), on: fc.boolean() }),
  fc.constant({ do: 'garbage' } as const),
  fc.record({ do: fc.constant('wait' as const), minutes: fc.integer({ min: 1, max: 45 }) }),
);

/** One sandbox as the API would have it; anything that must not happen is kept. */
function fakeSandbox() {
  const world = { state: 'none' as 'none' | 'running' | 'paused', creates: 0, wrong: [] as string[] };
  const calendar = { plan: { periods: [], plannedUntil: '' } as WindowPlan };
  const at = () => new Date(Context.current().info.currentAttemptScheduledTimestampMs).toISOString();
  const script: Script = {
    createSandbox() {
      world.creates += 1;
      if (world.state !== 'none') world.wrong.push('created beside a living one');
      world.state = 'running';
      return { sandboxId: 'sb-1', adopted: false, createdAt: at(), profile, firstWatch: ready() };
    },
    watchSandbox: (input) => (input.mode === 'starting' ? ready() : nothingHappensForMonths()),
    pauseSandbox() {
      if (world.state !== 'running') world.wrong.push(`paused while ${world.state}`);
      world.state = 'paused';
      return { kind: 'paused', requestedAt: at(), observedAt: at(), checkpoint: null };
    },
    resumeSandbox() {
      if (world.state !== 'paused') world.wrong.push(`resumed while ${world.state}`);
      world.state = 'running';
      return { kind: 'running', requestedAt: at(), observedAt: at(), profile, firstWatch: ready() };
    },
    deleteSandboxes() {
      world.state = 'none';
    },
    checkSettings(changes, current) {
      const limits = { ...NO_LIMITS, runningTimeMs: changes === 'on' ? 1 : null };
      // The windows stay as they were: the plan is asked for again.
      return { kind: 'accepted', settings: { ...current, limits }, plan: calendar.plan, changed: ['limits'] };
    },
  };
  return { world, script, calendar };
}

it('the sandbox always ends where the holds say, it is never doubled, and the receipts fit the meter', async () => {
  const runs = fc.sample(fc.array(move, { minLength: 4, maxLength: 14 }), { numRuns: 12 });
  for (const moves of runs) {
    const { world, script, calendar } = fakeSandbox();
    const startMs = Date.parse(await inMs(0));
    const periods = Array.from({ length: (SPAN_HOURS * 60) / PERIOD_MINUTES.every }, (_, index) => {
      const start = startMs + (index + 1) * PERIOD_MINUTES.every * MINUTE_MS;
      const end = start + PERIOD_MINUTES.length * MINUTE_MS;
      return { start: new Date(start).toISOString(), end: new Date(end).toISOString(), reason: null };
    });
    calendar.plan = { periods, plannedUntil: '2199-01-01T00:00:00.000Z' };
    const spec = withSettings({ pauseWindows: [{} as WindowRule], windowSpreadMs: 0 });
    await withJob(
      { ...script, periods },
      async (job, _, env) => {
        for (const each of moves) {
          switch (each.do) {
            case 'pause':
              await job.handle.signal(PAUSE_SIGNAL, { by: 'model', reason: 'x', hold: each.hold });
              break;
            case 'resume':
              await job.handle.signal(RESUME_SIGNAL, { by: 'model', hold: each.hold });
              break;
            case 'force':
              await job.handle.signal(RESUME_SIGNAL, { by: 'model', force: true });
              break;
            case 'limit':
              await job.handle.executeUpdate(CONFIGURE_UPDATE, {
                args: [{ by: 'model', changes: each.on ? 'on' : 'off' }],
              });
              break;
            case 'garbage':
              await job.handle.signal('no-such-signal', { by: 7 });
              await job.handle.signal(PAUSE_SIGNAL, { until: 'never', hold: 'manual' });
              break;
            case 'wait':
              await env.sleep(each.minutes * MINUTE_MS);
          }
          const settled = await job.until(({ phase, holds, sandbox }) => {
            if (sandbox === null) return holds.length > 0;
            return holds.length > 0 ? phase === 'paused' : phase === 'running';
          });
          if (settled.sandbox !== null) {
            expect(world.state, JSON.stringify(moves)).toBe(settled.holds.length > 0 ? 'paused' : 'running');
          }
        }
        // A workflow tells its meters as of its last task: this makes it have one now.
        await job.handle.signal('no-such-signal');
        const { receipts, hours } = await job.status();
        expect(world.wrong, JSON.stringify(moves)).toEqual([]);
        expect(world.creates).toBeLessThanOrEqual(1);
        expect(hours.paused, JSON.stringify(moves)).toBeCloseTo(pausedHours(receipts, await inMs(0)), 2);
        await job.handle.cancel();
        await expect(job.result()).rejects.toThrow();
        expect(world.state).toBe('none');
      },
      { spec },
    );
  }
}, 180_000);

/** What the receipts say that it was paused, where all of them are still kept. */
function pausedHours(
  receipts: readonly { kind: string; observedAt: string; requestedAt: string }[],
  now: string,
) {
  let pausedMs = 0;
  let sinceMs: number | null = null;
  for (const { kind, observedAt, requestedAt } of receipts) {
    if (kind === 'pause') sinceMs = Date.parse(observedAt);
    else if (sinceMs !== null) {
      pausedMs += Date.parse(requestedAt) - sinceMs;
      sinceMs = null;
    }
  }
  if (sinceMs !== null) pausedMs += Date.parse(now) - sinceMs;
  return pausedMs / 3_600_000;
}
