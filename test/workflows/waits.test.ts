import type { WorkflowUpdateFailedError } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import type { WatchInput, WatchOutcome } from '../../contract/activities.js';
import { INPUT_UPDATE, RESUME_SIGNAL } from '../../contract/messages.js';
import {
  cursor,
  done,
  nothingHappensForMonths,
  ready,
  type Script,
  summary,
  useTimeSkipping,
} from './job-harness.js';

const { withJob, inMs } = useTimeSkipping();

const QUESTION = { id: 'q1', text: 'Delete the old images?', schema: { type: 'boolean' } };
const WAIT_KEY = 'input:q1';
const HOUR_MS = 3_600_000;

const waitingCursor = () => ({ ...cursor(5), checkpoint: { ...summary(5, 'waiting'), waitKey: WAIT_KEY } });
const asks = (): WatchOutcome => ({
  kind: 'agent-waits',
  cursor: waitingCursor(),
  waitKey: WAIT_KEY,
  question: QUESTION,
});

/** An agent that asks, is started anew still asking, and goes on when it was given the answer. */
function askingAgent(): Script & { readonly delivered: unknown[] } {
  const delivered: unknown[] = [];
  return {
    delivered,
    watchSandbox(input: WatchInput) {
      if (input.mode === 'starting') return { kind: 'ready', cursor: waitingCursor() };
      if (delivered.length > 0) return done(9, delivered);
      return input.knownWait === WAIT_KEY ? nothingHappensForMonths() : asks();
    },
    deliverInput({ document }) {
      delivered.push(document.value);
      return { kind: 'delivered' };
    },
  };
}

describe('an agent that asks', () => {
  it('is paused after the grace, and gets the answer exactly once, months later', async () => {
    const agent = askingAgent();
    await withJob(agent, async (job, calls, env) => {
      const asking = await job.until(({ question }) => question !== null);
      expect(asking).toMatchObject({ phase: 'running', holds: [], question: { text: QUESTION.text } });
      expect(asking.waitingFor?.what).toContain('longhaul input');
      await env.sleep('2 minutes');
      const paused = await job.until(({ phase }) => phase === 'paused');
      expect(paused.holds).toMatchObject([{ kind: 'input', by: 'agent', reason: QUESTION.text }]);
      await env.sleep('60 days');
      await job.handle.signal(RESUME_SIGNAL);
      expect((await job.status()).phase).toBe('paused');
      await job.handle.executeUpdate(INPUT_UPDATE, { args: [{ by: 'ann', value: true }] });
      const { result, status } = await job.result();
      expect(result).toEqual([true]);
      expect(agent.delivered).toEqual([true]);
      expect(calls.filter((call) => call === 'resume')).toHaveLength(1);
      expect(status.hours.paused).toBeGreaterThan(59 * 24);
    });
  });

  it('is not paused when the answer comes within the grace', async () => {
    await withJob(askingAgent(), async (job, calls) => {
      await job.until(({ question }) => question !== null);
      await job.handle.executeUpdate(INPUT_UPDATE, { args: [{ by: 'ann', value: false }] });
      await job.result();
      expect(calls).not.toContain('pause');
    });
  });

  it('takes no answer that does not fit its schema, and none that nobody asked for', async () => {
    await withJob(askingAgent(), async (job) => {
      await job.until(({ question }) => question !== null);
      const refusal = (value: unknown) =>
        job.handle.executeUpdate(INPUT_UPDATE, { args: [{ by: 'ann', value }] }).then(
          () => null,
          (error: WorkflowUpdateFailedError) => error.cause,
        );
      expect(await refusal('yes')).toMatchObject({ type: 'INPUT_INVALID' });
      expect(await refusal('x'.repeat(70_000))).toMatchObject({ type: 'INPUT_INVALID' });
      expect(await refusal(true)).toBeNull();
      expect(await refusal(true)).toMatchObject({ type: 'NO_QUESTION' });
      await job.result();
    });
  });

  it('has its question open again when it refuses the answer', async () => {
    const agent = askingAgent();
    const { deliverInput } = agent;
    const script: Script = {
      ...agent,
      deliverInput: (input, count) =>
        count === 1
          ? { kind: 'refused', message: 'the agent answered 422' }
          : (deliverInput?.(input, count) as never),
    };
    await withJob(script, async (job) => {
      await job.until(({ question }) => question !== null);
      await job.handle.executeUpdate(INPUT_UPDATE, { args: [{ by: 'ann', value: true }] });
      const refused = await job.until(({ warnings, question }) => warnings.length > 0 && question !== null);
      expect(refused.warnings[0]).toContain('422');
      await job.handle.executeUpdate(INPUT_UPDATE, { args: [{ by: 'ann', value: true }] });
      await job.result();
    });
  });

  it('is let run on by a forced resume, and is not paused for the same question again', async () => {
    const agent = askingAgent();
    await withJob(agent, async (job, calls, env) => {
      await job.until(({ question }) => question !== null);
      await env.sleep('2 minutes');
      await job.until(({ phase }) => phase === 'paused');
      await job.handle.signal(RESUME_SIGNAL, { by: 'ann', force: true });
      await job.until(({ phase }) => phase === 'running');
      await env.sleep('10 minutes');
      expect((await job.status()).phase).toBe('running');
      expect(calls.filter((call) => call === 'pause')).toHaveLength(1);
      await job.handle.executeUpdate(INPUT_UPDATE, { args: [{ by: 'ann', value: true }] });
      await job.result();
    });
  });
});

describe('an agent that sleeps', () => {
  it('is paused until its time and then resumed, with nothing in between', async () => {
    const wakeAt = await inMs(40 * 24 * HOUR_MS);
    const watchSandbox = (input: WatchInput, count: number): WatchOutcome => {
      if (input.mode === 'starting') return ready(1);
      if (count === 1) return { kind: 'agent-sleeps', cursor: cursor(1), waitKey: `sleep:${wakeAt}`, wakeAt };
      return done(2);
    };
    await withJob({ watchSandbox }, async (job, calls) => {
      const asleep = await job.until(({ phase }) => phase === 'paused');
      expect(asleep.holds).toMatchObject([{ kind: 'sleep', until: wakeAt }]);
      expect(asleep.waitingFor?.what).toBe(`its wake-up time ${wakeAt}`);
      await job.handle.signal(RESUME_SIGNAL);
      const { status } = await job.result();
      expect(status.hours.paused).toBeGreaterThan(39.9 * 24);
      expect(calls.filter((call) => call === 'resume')).toHaveLength(1);
    });
  });
});
