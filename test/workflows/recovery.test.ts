import { describe, expect, it } from 'vitest';
import type { WatchOutcome } from '../../contract/activities.js';
import type { JobSpec } from '../../contract/job-spec.js';
import { RESUME_SIGNAL } from '../../contract/messages.js';
import type { SnapshotRef } from '../../contract/status.js';
import {
  cursor,
  done,
  nothingHappensForMonths,
  ready,
  type Script,
  useTimeSkipping,
  withSettings,
} from './job-harness.js';

const { withJob, inMs } = useTimeSkipping();

const recreating: JobSpec = {
  ...withSettings({}),
  recovery: { onLost: 'recreate', onStuck: 'park' },
  snapshots: { everyMs: 1_800_000, paths: ['/workspace'], keep: 3, onPause: false },
};
const lost = (step: number): WatchOutcome => ({ kind: 'lost', cursor: cursor(step), message: 'It is gone.' });
const stalled = (step: number): WatchOutcome => ({
  kind: 'stalled',
  cursor: cursor(step),
  why: 'unchanged',
  message: 'The checkpoint has not changed for 15m.',
  logs: 'the end of its log',
});

describe('a lost sandbox', () => {
  it('is made anew from the last snapshot, and the work since then is told to be lost', async () => {
    const snapshot: SnapshotRef = {
      key: 'jobs/x/snapshots/1.json',
      takenAt: await inMs(1_800_000),
      step: 10,
      files: 3,
      sizeBytes: 30,
    };
    const script: Script = {
      takeSnapshot: () => ({ kind: 'taken', snapshot }),
      watchSandbox: (input, count) => {
        if (input.mode === 'starting') return ready(count === 1 ? 0 : 10);
        if (count === 1) return nothingHappensForMonths();
        return count === 2 ? lost(15) : done(20);
      },
    };
    await withJob(
      script,
      async (job, calls, env) => {
        await job.until(({ phase }) => phase === 'running');
        await env.sleep('40 minutes');
        expect((await job.until(({ recoveryPoint }) => recoveryPoint !== null)).recoveryPoint).toEqual(
          snapshot,
        );
        await job.handle.signal('pause');
        await job.until(({ phase }) => phase === 'paused');
        await job.handle.signal(RESUME_SIGNAL);
        const { status } = await job.result();
        const made = calls.filter((call) => ['create', 'restore', 'delete'].includes(call));
        expect(made).toEqual(['create', 'delete', 'create', 'restore', 'delete']);
        expect(status.restarts).toBe(1);
        expect(status.sandbox?.incarnation).toBe(3);
        expect(status.warnings.join()).toContain(
          'Work was lost with the sandbox: the agent was at step 15 and goes on at step 10.',
        );
      },
      { spec: recreating },
    );
  });

  it('that is lost again and again without progress fails the job, with nothing left', async () => {
    const watchSandbox: NonNullable<Script['watchSandbox']> = (input) =>
      input.mode === 'starting' ? ready(1) : lost(1);
    await withJob(
      { watchSandbox },
      async (job, calls) => {
        await expect(job.result()).rejects.toMatchObject({ cause: { type: 'SANDBOX_LOST' } });
        expect(calls.filter((call) => call === 'create')).toHaveLength(3);
        expect(calls.at(-1)).toBe('delete');
      },
      { spec: recreating },
    );
  });

  it('is made anew as often as it takes, while there is progress in between', async () => {
    const watchSandbox: NonNullable<Script['watchSandbox']> = (input, count) => {
      if (input.mode === 'starting') return ready(count);
      return count < 6 ? lost(count) : done(count);
    };
    await withJob(
      { watchSandbox },
      async (job, calls) => {
        await job.result();
        expect(calls.filter((call) => call === 'create')).toHaveLength(6);
      },
      { spec: recreating },
    );
  });

  it('whose snapshot cannot be put back is given up for another', async () => {
    const script: Script = {
      takeSnapshot: () => ({
        kind: 'taken',
        snapshot: { key: 'k', takenAt: '2026-01-01T00:00:00.000Z', step: 1, files: 1, sizeBytes: 1 },
      }),
      restoreSnapshot: (_, count) =>
        count === 1 ? { kind: 'not-restored', message: 'the store is away' } : { kind: 'restored' },
      watchSandbox: (input, count) => {
        if (input.mode === 'starting') return ready(1);
        if (count === 1) return nothingHappensForMonths();
        return count === 2 ? lost(1) : done(2);
      },
    };
    await withJob(
      script,
      async (job, calls, env) => {
        await job.until(({ phase }) => phase === 'running');
        await env.sleep('40 minutes');
        await job.handle.signal('pause');
        await job.until(({ phase }) => phase === 'paused');
        await job.handle.signal(RESUME_SIGNAL);
        await job.result();
        expect(calls.filter((call) => call === 'restore')).toHaveLength(2);
        expect(calls.filter((call) => call === 'create')).toHaveLength(3);
      },
      { spec: recreating },
    );
  });
});

describe('a stuck agent', () => {
  it('is nudged, restarted, made anew, and at last parked for a person, who may let it try again', async () => {
    let isHelped = false;
    const script: Script = {
      watchSandbox: (input) => {
        if (input.mode === 'starting') return ready(7);
        return isHelped ? done(8) : stalled(7);
      },
    };
    const spec: JobSpec = { ...recreating, nudge: { port: 8000, path: 'nudge' } };
    await withJob(
      script,
      async (job, calls) => {
        const parked = await job.until(({ phase, holds }) => phase === 'paused' && holds.length > 0);
        expect(parked.holds).toMatchObject([{ kind: 'operator', by: 'longhaul' }]);
        expect(parked.waitingFor?.what).toContain('has not changed for 15m');
        const steps = calls.filter((call) => !call.startsWith('watch') && call !== 'snapshot');
        expect(steps).toEqual([
          'create',
          'nudge',
          'pause',
          'resume',
          'pause',
          'resume',
          'delete',
          'create',
          'delete',
          'create',
          'pause',
        ]);
        isHelped = true;
        await job.handle.signal(RESUME_SIGNAL, { by: 'ann' });
        await job.result();
        expect(calls).not.toContain('probe');
      },
      { spec },
    );
  });

  it('can be restarted and made anew by hand', async () => {
    const script: Script = {
      watchSandbox: (input, count) => {
        if (input.mode === 'starting') return ready(count);
        return count <= 2 ? nothingHappensForMonths() : done(count);
      },
    };
    await withJob(
      script,
      async (job, calls) => {
        await job.until(({ phase }) => phase === 'running');
        await job.handle.signal('bounce', { by: 'ann' });
        await job.until(({ sandbox, phase }) => sandbox?.incarnation === 2 && phase === 'running');
        await job.handle.signal('recreate', { by: 'ann' });
        const { status } = await job.result();
        expect(status.sandbox).toMatchObject({ id: 'sb-2', incarnation: 3 });
        expect(calls.filter((call) => ['pause', 'resume', 'create', 'delete'].includes(call))).toEqual([
          'create',
          'pause',
          'resume',
          'delete',
          'create',
          'delete',
        ]);
      },
      { spec: recreating },
    );
  });
});

describe('artifacts', () => {
  it('are collected while the sandbox still runs, and what is missing is told', async () => {
    const artifact = { path: '/workspace/out.csv', key: 'k', sizeBytes: 3, sha256: 'aa' };
    const script: Script = {
      collectArtifacts: () => ({ artifacts: [artifact], problems: ['/workspace/log: not there'] }),
    };
    await withJob(
      script,
      async (job, calls) => {
        const { status } = await job.result();
        expect(status.artifacts).toEqual([artifact]);
        expect(status.warnings).toEqual(['An artifact was not collected: /workspace/log: not there']);
        expect(calls.slice(-2)).toEqual(['collect', 'delete']);
      },
      { spec: { ...withSettings({}), artifacts: ['/workspace/out.csv', '/workspace/log'] } },
    );
  });
});
