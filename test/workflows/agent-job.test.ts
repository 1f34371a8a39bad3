import { Context } from '@temporalio/activity';
import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { PAUSE_SIGNAL } from '../../contract/messages.js';
import type { JobStatus } from '../../contract/status.js';
import { createOnDemand, cursor, done, nothingHappens, ready, useTimeSkipping } from './job-harness.js';

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
    const { createSandbox, finish } = createOnDemand('sb-late');
    await withJob({ createSandbox }, async (job, calls) => {
      await job.until((status) => status.phase === 'provisioning');
      await job.handle.cancel();
      await new Promise((resolve) => setTimeout(resolve, 200));
      expect(calls).toEqual(['create']);
      finish();
      await expect(job.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
      expect(calls).toEqual(['create', 'delete']);
      expect(await job.status()).toMatchObject({ sandbox: { id: 'sb-late', state: 'deleted' } });
    });
  });

  it('is a cancellation, too, when the create fails because its worker died meanwhile', async () => {
    const createSandbox = async (): Promise<never> => {
      const context = Context.current();
      const beating = setInterval(() => context.heartbeat(), 50);
      await context.cancelled.catch(() => clearInterval(beating));
      throw ApplicationFailure.nonRetryable('activity Heartbeat timeout');
    };
    await withJob({ createSandbox }, async (job, calls) => {
      await job.until((status) => status.phase === 'provisioning');
      await job.handle.cancel();
      await expect(job.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
      expect(calls).toEqual(['create', 'delete']);
    });
  });
});
