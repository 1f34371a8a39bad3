/** What time does to a job, as a table: it acts on what is right now, never on edges that have passed. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NO_LIMITS } from '../../contract/job-settings.js';
import type { WindowRule } from '../../contract/windows.js';
import { advance, nextAlarm } from '../../workflows/agent-job/clock.js';
import { putHold } from '../../workflows/agent-job/holds.js';
import { switchMeter } from '../../workflows/agent-job/meter.js';
import { nextStep } from '../../workflows/agent-job/next-step.js';
import { type JobSandbox, type JobState, newJobState } from '../../workflows/agent-job/state.js';
import { isPlanUsedUp, overrideWindow, spreadOf } from '../../workflows/agent-job/windows.js';
import { withSettings } from '../support/spec.js';

const profile = { heartbeatTimeoutMs: 10_000, sliceMs: 1000 };

/** `22:30` on the first day, `1+06:00` on the second; UTC. */
function at(time: string): string {
  const [clock = '', days = '0'] = time.split('+').reverse();
  return new Date(Date.parse(`2026-12-01T${clock}:00.000Z`) + Number(days) * 86_400_000).toISOString();
}

function nights(count: number) {
  return Array.from({ length: count }, (_, day) => ({
    start: at(`${day}+22:00`),
    end: at(`${day + 1}+06:00`),
    reason: 'night',
  }));
}

function jobWithNights(sandbox: JobSandbox['state'], windowSpreadMs = 0): JobState {
  const spec = withSettings({ pauseWindows: [{} as WindowRule], windowSpreadMs });
  return {
    ...newJobState('job', spec, at('12:00')),
    plan: { periods: nights(4), plannedUntil: at('30+00:00') },
    sandbox: { id: 'sb-1', state: sandbox, incarnation: 1, profile },
  };
}

describe('after a downtime of all workers', () => {
  it.each([
    ['that ends within the window, the job is paused', 'running', '22:30', 'pause'],
    ['over the whole window, nothing is done late', 'running', '1+06:30', 'watch'],
    ['over the end of the window, the job is resumed', 'paused', '1+06:20', 'resume'],
    ['of three days, only what is right now counts: by day', 'running', '3+12:00', 'watch'],
    ['of three days, only what is right now counts: by night', 'running', '3+23:00', 'pause'],
  ] as const)('%s', (_, sandbox, time, step) => {
    const job = jobWithNights(sandbox);
    if (sandbox === 'paused') advance(job, 'job', at('22:00'));
    advance(job, 'job', at(time));
    expect(nextStep(job, at(time)).do).toBe(step);
  });
});

describe('a window', () => {
  it.each([
    ['21:59', 'watch'],
    ['22:00', 'pause'],
    ['1+05:59', 'pause'],
    ['1+06:00', 'watch'],
  ])('at %s means to %s', (time, step) => {
    const job = jobWithNights('running');
    advance(job, 'job', at(time));
    expect(nextStep(job, at(time)).do).toBe(step);
  });

  it('that is overridden stays so until its end, and the next one counts again', () => {
    const job = jobWithNights('paused');
    advance(job, 'job', at('23:00'));
    overrideWindow(job, at('23:00'));
    for (const time of ['23:00', '23:01', '1+02:00', '1+05:59']) {
      advance(job, 'job', at(time));
      expect(nextStep(job, at(time)).do).toBe('resume');
    }
    advance(job, 'job', at('1+22:00'));
    expect(job.holds).toMatchObject([{ kind: 'window', since: at('1+22:00'), until: at('2+06:00') }]);
  });

  it('never clears another hold with its end', () => {
    const job = jobWithNights('paused');
    advance(job, 'job', at('23:00'));
    putHold(job, { kind: 'manual', by: 'ann', reason: 'x', since: at('23:10'), until: null }, at('23:10'));
    advance(job, 'job', at('1+07:00'));
    expect(job.holds.map(({ kind }) => kind)).toEqual(['manual']);
  });

  it('is acted on within the spread after its edge, by each job at its own moment', () => {
    const moments = Array.from({ length: 500 }, (_, index) => spreadOf(`audit-${index}`));
    expect(Math.min(...moments)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...moments)).toBeLessThan(1);
    const inTenths = Array.from({ length: 10 }, (_, tenth) =>
      moments.filter((moment) => Math.floor(moment * 10) === tenth),
    );
    for (const share of inTenths) expect(share.length).toBeGreaterThan(25);

    const job = { ...jobWithNights('running', 60_000), spread: 0.5 };
    advance(job, 'job', at('22:00'));
    expect(job.holds).toEqual([]);
    advance(job, 'job', new Date(Date.parse(at('22:00')) + 30_000).toISOString());
    expect(job.holds).toHaveLength(1);
  });

  it('that is the last planned one asks for a new plan at its end', () => {
    const job = jobWithNights('paused');
    expect(isPlanUsedUp(job, at('4+05:59'))).toBe(false);
    expect(isPlanUsedUp(job, at('4+06:00'))).toBe(true);
  });
});

describe('the next alarm', () => {
  it('is the first instant at which advancing changes something, and never lies in the past', () => {
    const minute = fc.integer({ min: 0, max: 4 * 24 * 60 });
    fc.assert(
      fc.property(minute, fc.boolean(), fc.integer({ min: 1, max: 60 }), (start, running, limitHours) => {
        const instant = (ms: number) => new Date(ms).toISOString();
        const startMs = Date.parse(at('12:00')) + start * 60_000;
        const job = jobWithNights(running ? 'running' : 'paused');
        job.settings = { ...job.settings, limits: { ...NO_LIMITS, runningTimeMs: limitHours * 3_600_000 } };
        job.meter = switchMeter(job.meter, running ? 'running' : 'paused', instant(startMs));
        advance(job, 'job', instant(startMs));
        const alarm = nextAlarm(job, instant(startMs));
        if (alarm === null) return;
        expect(alarm > instant(startMs)).toBe(true);
        const kinds = () => [job.holds.map(({ kind }) => kind), job.warnings];
        const before = JSON.stringify(kinds());
        advance(job, 'job', instant(Math.max(startMs, Date.parse(alarm) - 60_000)));
        expect(JSON.stringify(kinds())).toBe(before);
      }),
    );
  });
});
