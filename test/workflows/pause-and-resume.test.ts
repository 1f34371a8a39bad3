import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { PAUSE_SIGNAL, RESUME_SIGNAL } from '../../contract/messages.js';
import {
  createOnDemand,
  cursor,
  done,
  nothingHappens,
  ready,
  summary,
  useTimeSkipping,
} from './job-harness.js';

const { withJob } = useTimeSkipping();

describe('pause and resume', () => {
  it('leaves the watch at once, pauses, rests without any activity, and resumes when asked', async () => {
    const script = {
      watchSandbox: (input: { mode: string }, count: number) => {
        if (input.mode === 'starting') return ready(count * 10);
        return count === 1 ? nothingHappens() : done(30);
      },
    };
    await withJob(script, async (job, calls) => {
      await job.until((status) => status.phase === 'running');
      await job.handle.signal(PAUSE_SIGNAL, { by: 'ann', reason: 'lunch' });
      const paused = await job.until((status) => status.phase === 'paused');
      expect(paused.holds).toMatchObject([{ kind: 'manual', by: 'ann', reason: 'lunch', until: null }]);
      expect(paused.waitingFor?.what).toBe('a resume (paused by ann: lunch)');
      expect(calls).toEqual(['create', 'watch starting', 'watch running', 'pause']);

      await job.handle.signal(RESUME_SIGNAL, { by: 'ann' });
      const { status } = await job.result();
      expect(
        status.receipts.map(({ kind, incarnation, regressed }) => ({ kind, incarnation, regressed })),
      ).toEqual([
        { kind: 'pause', incarnation: 1, regressed: false },
        { kind: 'resume', incarnation: 2, regressed: false },
      ]);
      expect(calls.slice(4)).toEqual(['resume', 'watch starting', 'watch running', 'delete']);
    });
  });

  it('makes one resume of a thousand', async () => {
    const watchSandbox = (input: { mode: string }, count: number) =>
      input.mode === 'starting' ? ready() : count === 1 ? nothingHappens() : done();
    await withJob({ watchSandbox }, async (job, calls) => {
      await job.until((status) => status.phase === 'running');
      await job.handle.signal(PAUSE_SIGNAL, { by: 'a', reason: 'b' });
      await job.until((status) => status.phase === 'paused');
      await Promise.all(Array.from({ length: 1000 }, () => job.handle.signal(RESUME_SIGNAL)));
      await job.result();
      expect(calls.filter((call) => call === 'resume')).toHaveLength(1);
    });
  });

  it('honours a pause that arrives while the sandbox is being created, after it', async () => {
    const { createSandbox, finish } = createOnDemand('sb-1');
    await withJob({ createSandbox }, async (job, calls) => {
      await job.until((status) => status.phase === 'provisioning');
      await job.handle.signal(PAUSE_SIGNAL, { by: 'a', reason: 'b' });
      finish();
      await job.until((status) => status.phase === 'paused');
      expect(calls).toEqual(['create', 'pause']);
      await job.handle.signal(RESUME_SIGNAL);
      await job.result();
    });
  });

  it('takes a pause before the first step as a reason not to start', async () => {
    await withJob({}, async (job, calls) => {
      await job.handle.signal(PAUSE_SIGNAL);
      await job.until((status) => status.holds.length === 1 || status.phase !== 'scheduled');
      await job.handle.signal(RESUME_SIGNAL);
      await job.result();
      expect(calls.filter((call) => call === 'create')).toHaveLength(1);
    });
  });

  it('reports work that was lost over a pause', async () => {
    const watchSandbox = (input: { mode: string }, count: number) => {
      if (input.mode === 'starting') return ready(count === 1 ? 0 : 10);
      return count === 1 ? nothingHappens() : done(20);
    };
    const pauseSandbox = () =>
      ({
        kind: 'paused',
        requestedAt: '2026-01-01T00:00:00.000Z',
        observedAt: '2026-01-01T00:00:00.000Z',
        checkpoint: summary(20),
      }) as const;
    await withJob({ watchSandbox, pauseSandbox }, async (job) => {
      await job.until((status) => status.phase === 'running');
      await job.handle.signal(PAUSE_SIGNAL);
      await job.until((status) => status.phase === 'paused');
      await job.handle.signal(RESUME_SIGNAL);
      const { status } = await job.result();
      expect(status.receipts.at(-1)).toMatchObject({
        kind: 'resume',
        regressed: true,
        before: { step: 20 },
        after: { step: 10 },
      });
      expect(status.warnings.join()).toContain('at step 20 and came back at step 10');
    });
  });

  it('goes on running, visibly, where the deployment cannot pause', async () => {
    let finish = (_: unknown) => {};
    const finished = new Promise((resolve) => {
      finish = resolve;
    });
    const watchSandbox = async (input: { mode: string }, count: number) => {
      if (input.mode === 'starting') return ready();
      if (count === 1) return nothingHappens();
      await finished;
      return done();
    };
    const pauseSandbox = () => ({ kind: 'unsupported', message: 'Pause is not supported' }) as const;
    await withJob({ watchSandbox, pauseSandbox }, async (job, calls) => {
      await job.until((status) => status.phase === 'running');
      await job.handle.signal(PAUSE_SIGNAL);
      const status = await job.until((current) => current.warnings.length > 0 && current.phase === 'running');
      expect(status.sandbox?.state).toBe('running');
      expect(status.warnings[0]).toContain('cannot pause');
      finish(null);
      await job.result();
      expect(calls.filter((call) => call === 'pause')).toHaveLength(1);
    });
  });

  it('leaves alone a sandbox that somebody else paused, and goes on when they resume it', async () => {
    const watchSandbox = (input: { mode: string }, count: number) => {
      if (input.mode === 'starting') return ready();
      return count === 1 ? ({ kind: 'paused-outside', cursor: cursor(1) } as const) : done();
    };
    const probe = (count: number) => {
      if (count < 3) throw ApplicationFailure.retryable('still paused');
    };
    await withJob({ watchSandbox, probe }, async (job, calls) => {
      const { status } = await job.result();
      expect(calls.filter((call) => call === 'probe')).toHaveLength(3);
      expect(status.holds).toEqual([]);
      expect(calls).not.toContain('pause');
    });
  });
});
