import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { HoldKind } from '../../contract/status.js';
import { expireHolds, putHold } from '../../workflows/agent-job/holds.js';
import { newMeter, readMeter, switchMeter } from '../../workflows/agent-job/meter.js';
import { nextStep } from '../../workflows/agent-job/next-step.js';
import { applyPaused, applyResumed } from '../../workflows/agent-job/outcomes.js';
import { type JobSandbox, type JobState, newJobState } from '../../workflows/agent-job/state.js';
import { spec } from '../support/spec.js';

const KINDS: HoldKind[] = ['manual', 'window', 'input', 'sleep', 'fleet', 'budget', 'external', 'operator'];
const profile = { heartbeatTimeoutMs: 10_000, sliceMs: 1000 };

function at(seconds: number): string {
  return new Date(Date.parse('2026-12-01T10:00:00.000Z') + seconds * 1000).toISOString();
}

function hold(kind: HoldKind, by = 'somebody') {
  return { kind, by, reason: 'because', since: at(0), until: null };
}

function jobWith(
  sandbox: JobSandbox['state'] | null,
  holds: HoldKind[] = [],
): JobState & { sandbox: JobSandbox | null } {
  return {
    ...newJobState('job', spec, at(0)),
    holds: holds.map((kind) => hold(kind)),
    sandbox: sandbox === null ? null : { id: 'sb-1', state: sandbox, incarnation: 1, profile },
  };
}

describe('the next step', () => {
  it.each([
    [null, [], 'create'],
    [null, ['manual'], 'rest'],
    ['starting', [], 'watch'],
    ['starting', ['manual'], 'pause'],
    ['running', [], 'watch'],
    ['running', ['window'], 'pause'],
    ['paused', [], 'resume'],
    ['paused', ['manual', 'window'], 'rest'],
    ['paused', ['external'], 'await-outside-resume'],
    ['running', ['operator'], 'await-operator'],
    [null, ['operator', 'manual'], 'await-operator'],
  ] as const)('with a sandbox that is %s and the holds %j is to %s', (sandbox, holds, step) => {
    expect(nextStep(jobWith(sandbox, [...holds]), at(1)).do).toBe(step);
  });

  it('runs exactly while there is no hold, whatever the holds are', () => {
    fc.assert(
      fc.property(
        fc.subarray(KINDS),
        fc.constantFrom('starting', 'running', 'paused', null),
        (holds, sandbox) => {
          const step = nextStep(jobWith(sandbox, holds), at(1)).do;
          const runs = ['create', 'watch', 'resume'].includes(step);
          expect(runs).toBe(holds.length === 0);
        },
      ),
    );
  });

  it('does not try again before its time, and then does', () => {
    const job = jobWith('running', ['manual']);
    job.retryAt = at(10);
    expect(nextStep(job, at(9)).do).toBe('watch');
    expect(nextStep(job, at(10)).do).toBe('pause');
  });

  it('watches on where pausing is not supported', () => {
    const job = { ...jobWith('running', ['manual']), pauseUnsupported: true };
    expect(nextStep(job, at(1)).do).toBe('watch');
  });
});

describe('holds', () => {
  it('keep the first reason of a kind', () => {
    const job = jobWith('running');
    putHold(job, hold('manual', 'ann'), at(1));
    putHold(job, hold('manual', 'bob'), at(2));
    expect(job.holds).toEqual([hold('manual', 'ann')]);
    expect(job.timeline.events).toHaveLength(1);
  });

  it('take another end when they are set again with one, and keep their beginning', () => {
    const job = jobWith('running');
    putHold(job, hold('manual', 'ann'), at(1));
    putHold(job, { ...hold('manual', 'bob'), since: at(5), until: at(60) }, at(5));
    expect(job.holds).toEqual([{ ...hold('manual', 'bob'), since: at(0), until: at(60) }]);
  });

  it('end by themselves at their time, and not before', () => {
    const job = jobWith('running');
    putHold(job, { ...hold('manual'), until: at(60) }, at(1));
    expireHolds(job, at(59));
    expect(job.holds).toHaveLength(1);
    expireHolds(job, at(60));
    expect(job.holds).toEqual([]);
  });
});

describe('a pause that is not carried out', () => {
  it('is tried again ever more rarely, for as long as the hold stands', () => {
    const job = jobWith('running', ['manual']);
    const waits: number[] = [];
    for (let count = 0; count < 8; count += 1) {
      expect(
        applyPaused(job, 'job', job.sandbox as JobSandbox, { kind: 'still-running', message: 'no' }, at(0)),
      ).toBeNull();
      waits.push((Date.parse(job.retryAt as string) - Date.parse(at(0))) / 1000);
    }
    expect(waits).toEqual([10, 20, 40, 80, 160, 300, 300, 300]);
    expect(job.sandbox?.state).toBe('running');
  });
});

describe('a resume that is not carried out', () => {
  it('fails the job after three tries', () => {
    const job = jobWith('paused');
    const outcome = { kind: 'not-resumed', message: 'Multi-Attach error for volume' } as const;
    const ends = [1, 2, 3].map(() => applyResumed(job, 'job', job.sandbox as JobSandbox, outcome, at(0)));
    expect(ends).toEqual([null, null, expect.objectContaining({ as: 'failed', code: 'RESUME_FAILED' })]);
  });
});

describe('the meter', () => {
  it('splits time without gap or overlap', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(fc.constantFrom('running', 'paused', 'provisioning'), fc.integer({ min: 0, max: 1e6 })),
          { minLength: 1 },
        ),
        (steps) => {
          let meter = switchMeter(newMeter(at(0)), 'provisioning', at(0));
          let elapsed = 0;
          for (const [next, seconds] of steps) {
            elapsed += seconds;
            meter = switchMeter(meter, next as 'running', at(elapsed));
          }
          const read = readMeter(meter, at(elapsed + 5));
          expect(read.runningMs + read.pausedMs + read.provisioningMs).toBe((elapsed + 5) * 1000);
        },
      ),
    );
  });

  it('stands still when a clock runs backwards', () => {
    const meter = switchMeter(switchMeter(newMeter(at(0)), 'running', at(10)), 'paused', at(5));
    expect(readMeter(meter, at(20))).toMatchObject({ runningMs: 0, pausedMs: 10_000 });
  });
});
