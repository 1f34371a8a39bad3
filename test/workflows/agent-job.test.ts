import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { PAUSE_SIGNAL, RESUME_SIGNAL } from '../../contract/messages.js';
import type { JobStatus } from '../../contract/status.js';
import { cursor, done, nothingHappens, ready, summary, useTimeSkipping } from './job-harness.js';

const { withJob } = useTimeSkipping();

async function failureOf(result: Promise<unknown>): Promise<ApplicationFailure> {
  const error = await result.then(
    () => undefined,
    (reason) => reason,
  );
  if (!(error instanceof WorkflowFailedError)) throw new Error(`Expected a failure, got ${error}`);
  return error.cause as ApplicationFailure;
}

describe('a job', () => {
  it('creates a sandbox, watches it to its end, deletes it and gives the result', async () => {
    await withJob(
      { watchSandbox: (input) => (input.mode === 'starting' ? ready(1) : done(9, { n: 1 })) },
      async (job, calls) => {
        const { result, status } = await job.result();
        expect(result).toEqual({ n: 1 });
        expect(status).toMatchObject({
          phase: 'completed',
          checkpoint: { step: 9 },
          sandbox: { state: 'deleted' },
        });
        expect(calls).toEqual(['create', 'watch starting', 'watch running', 'delete']);
      },
    );
  });

  it('is done at once when the first answer says so', async () => {
    await withJob({ watchSandbox: () => done(1) }, async (job, calls) => {
      await job.result();
      expect(calls).toEqual(['create', 'watch starting', 'delete']);
    });
  });

  it('fails with the code, the message and the logs of the agent, and leaves no sandbox', async () => {
    const exited = {
      kind: 'exited',
      cursor: cursor(3),
      message: 'exit code 127',
      logs: 'exec: agent: not found',
    } as const;
    await withJob({ watchSandbox: () => exited }, async (job, calls) => {
      const failure = await failureOf(job.result());
      expect(failure).toMatchObject({ type: 'AGENT_EXITED', message: 'exit code 127' });
      expect(failure.details?.[0] as JobStatus).toMatchObject({
        phase: 'failed',
        failure: { code: 'AGENT_EXITED', logs: 'exec: agent: not found' },
      });
      expect(calls.at(-1)).toBe('delete');
    });
  });

  it('tries a start that failed three times, minutes apart, then fails with the reason', async () => {
    const createSandbox = () => {
      throw ApplicationFailure.nonRetryable('POD_READY_TIMEOUT after 60 s', 'SANDBOX_START_FAILED');
    };
    await withJob({ createSandbox }, async (job, calls) => {
      const failure = await failureOf(job.result());
      expect(failure).toMatchObject({
        type: 'SANDBOX_START_FAILED',
        message: expect.stringContaining('POD_READY_TIMEOUT'),
      });
      expect(calls.filter((call) => call === 'create')).toHaveLength(3);
      expect(calls.at(-1)).toBe('delete');
    });
  });

  it('fails at once when the API refuses the sandbox as it was asked for', async () => {
    const createSandbox = () => {
      throw ApplicationFailure.nonRetryable('memory is too large', 'SANDBOX_REJECTED');
    };
    await withJob({ createSandbox }, async (job, calls) => {
      expect(await failureOf(job.result())).toMatchObject({ type: 'SANDBOX_REJECTED' });
      expect(calls).toEqual(['create', 'delete']);
    });
  });

  it('fails as unexpected, not for ever, when an activity has a bug', async () => {
    const createSandbox = () => {
      throw new TypeError('x is not a function');
    };
    await withJob({ createSandbox }, async (job) => {
      expect(await failureOf(job.result())).toMatchObject({
        type: 'UNEXPECTED',
        message: expect.stringContaining('x is not'),
      });
    });
  });
});

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

  it('ends paused after a storm of signals whose last is a pause, over many continue-as-news', async () => {
    await withJob(
      { watchSandbox: (input) => (input.mode === 'starting' ? ready() : nothingHappens()) },
      async (job, calls) => {
        for (let index = 0; index < 101; index += 1) {
          await job.handle.signal(index % 2 === 0 ? PAUSE_SIGNAL : RESUME_SIGNAL, {
            by: 'storm',
            reason: `${index}`,
          });
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        const status = await job.until((current) => current.phase === 'paused' && current.holds.length === 1);
        expect(status.holds[0]).toMatchObject({ kind: 'manual', reason: '100' });
        expect(calls.filter((call) => call === 'create')).toHaveLength(1);
        expect(calls.lastIndexOf('pause')).toBeGreaterThan(calls.lastIndexOf('resume'));
        await job.handle.cancel();
        await job.result().catch(() => {});
      },
      { continueAsNewAfterEvents: 30 },
    );
  });

  it('honours a pause that arrives while the sandbox is being created, after it', async () => {
    let created = (_: unknown) => {};
    const gate = new Promise((resolve) => {
      created = resolve;
    });
    const createSandbox = async () => {
      await gate;
      return {
        sandboxId: 'sb-1',
        adopted: false,
        createdAt: '',
        profile: { heartbeatTimeoutMs: 60_000, sliceMs: 1e6 },
      };
    };
    await withJob({ createSandbox }, async (job, calls) => {
      await job.until((status) => status.phase === 'provisioning');
      await job.handle.signal(PAUSE_SIGNAL, { by: 'a', reason: 'b' });
      created(null);
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

describe('a stalled agent', () => {
  it('is restarted twice without progress, then the job fails', async () => {
    const stalled = {
      kind: 'stalled',
      cursor: cursor(5),
      why: 'unchanged',
      message: 'No change for 1m.',
      logs: 'log',
    } as const;
    await withJob(
      { watchSandbox: (input) => (input.mode === 'starting' ? ready(5) : stalled) },
      async (job, calls) => {
        const failure = await failureOf(job.result());
        expect(failure).toMatchObject({
          type: 'AGENT_STALLED',
          message: expect.stringContaining('restarted 2 times'),
        });
        expect(calls.filter((call) => call === 'pause')).toHaveLength(2);
        expect(calls.filter((call) => call === 'resume')).toHaveLength(2);
      },
    );
  });

  it('has its restarts back when it made progress in between', async () => {
    const watchSandbox = (input: { mode: string }, count: number) => {
      if (input.mode === 'starting') return ready(count);
      if (count > 5) return done();
      return {
        kind: 'stalled',
        cursor: cursor(count),
        why: 'unchanged',
        message: 'No change.',
        logs: null,
      } as const;
    };
    await withJob({ watchSandbox }, async (job) => {
      const { status } = await job.result();
      expect(status.restarts).toBe(5);
    });
  });
});

describe('what only a person can mend', () => {
  it('parks the job under the operator hold and goes on when a probe succeeds', async () => {
    const createSandbox = (count: number) => {
      if (count === 1) throw ApplicationFailure.nonRetryable('INVALID_API_KEY', 'API_KEY_REJECTED');
      return {
        sandboxId: 'sb-1',
        adopted: false,
        createdAt: '',
        profile: { heartbeatTimeoutMs: 60_000, sliceMs: 1e6 },
      };
    };
    let fixed = false;
    const probe = () => {
      if (!fixed) throw ApplicationFailure.retryable('INVALID_API_KEY', 'API_KEY_REJECTED');
    };
    await withJob({ createSandbox, probe }, async (job, calls) => {
      const parked = await job.until((status) => status.holds.length > 0);
      expect(parked.holds).toMatchObject([{ kind: 'operator', reason: 'INVALID_API_KEY' }]);
      expect(parked.waitingFor?.what).toBe('an operator: INVALID_API_KEY');
      fixed = true;
      const { status } = await job.result();
      expect(status.phase).toBe('completed');
      expect(calls.filter((call) => call === 'create')).toHaveLength(2);
    });
  });

  it('does not lose a sandbox whose delete is refused: the job ends only when it is gone', async () => {
    const deleteSandboxes = (count: number) => {
      if (count === 1) throw ApplicationFailure.nonRetryable('INVALID_API_KEY', 'API_KEY_REJECTED');
    };
    await withJob({ deleteSandboxes }, async (job, calls) => {
      await job.result();
      expect(calls.slice(-3)).toEqual(['delete', 'probe', 'delete']);
    });
  });
});

describe('cancel', () => {
  it('deletes the sandbox before the job is over', async () => {
    await withJob(
      { watchSandbox: (input) => (input.mode === 'starting' ? ready() : nothingHappens()) },
      async (job, calls) => {
        await job.until((status) => status.phase === 'running');
        await job.handle.cancel();
        await expect(job.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
        expect(calls.at(-1)).toBe('delete');
        expect(await job.status()).toMatchObject({ phase: 'cancelled', sandbox: { state: 'deleted' } });
      },
    );
  });

  it('works on a paused job', async () => {
    await withJob(
      { watchSandbox: (input) => (input.mode === 'starting' ? ready() : nothingHappens()) },
      async (job, calls) => {
        await job.until((status) => status.phase === 'running');
        await job.handle.signal(PAUSE_SIGNAL);
        await job.until((status) => status.phase === 'paused');
        await job.handle.cancel();
        await expect(job.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
        expect(calls.at(-1)).toBe('delete');
      },
    );
  });

  it('waits for a create that is under way, and deletes what it made', async () => {
    let created = (_: unknown) => {};
    const gate = new Promise((resolve) => {
      created = resolve;
    });
    const createSandbox = async () => {
      await gate;
      return {
        sandboxId: 'sb-late',
        adopted: false,
        createdAt: '',
        profile: { heartbeatTimeoutMs: 60_000, sliceMs: 1e6 },
      };
    };
    await withJob({ createSandbox }, async (job, calls) => {
      await job.until((status) => status.phase === 'provisioning');
      await job.handle.cancel();
      await new Promise((resolve) => setTimeout(resolve, 200));
      expect(calls).toEqual(['create']);
      created(null);
      await expect(job.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
      expect(calls).toEqual(['create', 'delete']);
      expect(await job.status()).toMatchObject({ sandbox: { id: 'sb-late', state: 'deleted' } });
    });
  });
});
