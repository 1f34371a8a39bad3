import { describe, expect, it } from 'vitest';
import { PAUSE_SIGNAL, RESUME_SIGNAL } from '../../contract/messages.js';
import { done, nothingHappens, ready, type StartedJob, sliceOver, useTimeSkipping } from './job-harness.js';

// A file of its own: time is one for a whole test server, and whatever another job still does holds it up.
const { withJob } = useTimeSkipping();

/** The watch that a pause left behind still has to hear of it; then nothing more is written. */
async function settledHistoryLength({ handle }: StartedJob): Promise<number> {
  for (let before = 0; ; ) {
    const { historyLength, raw } = await handle.describe();
    if (historyLength === before && (raw.pendingActivities ?? []).length === 0) return before;
    before = historyLength;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

describe('long waits', () => {
  it('carries everything through continue-as-new: no call is made twice at a hand-over', async () => {
    const watchSandbox = (input: { mode: string }, count: number) => {
      if (input.mode === 'starting') return ready(0);
      return count < 40 ? sliceOver(count) : done(count);
    };
    await withJob(
      { watchSandbox },
      async (job, calls) => {
        const { status } = await job.result();
        expect(status.checkpoint?.step).toBe(40);
        expect(calls.filter((call) => !call.startsWith('watch'))).toEqual(['create', 'delete']);
        const description = await job.handle.describe();
        expect(description.historyLength).toBeLessThan(60);
      },
      { continueAsNewAfterEvents: 40 },
    );
  });

  it('stays paused for as long as nobody resumes it, at no cost in history', async () => {
    const watchSandbox = (input: { mode: string }, count: number) =>
      input.mode === 'starting' ? ready() : count === 1 ? nothingHappens() : done();
    await withJob({ watchSandbox }, async (job, _, env) => {
      await job.until((status) => status.phase === 'running');
      await job.handle.signal(PAUSE_SIGNAL);
      await job.until((status) => status.phase === 'paused');
      const before = await settledHistoryLength(job);
      await env.sleep('60 days');
      expect((await job.handle.describe()).historyLength).toBe(before);
      await job.handle.signal(RESUME_SIGNAL);
      const { status } = await job.result();
      expect(status.hours.paused).toBeGreaterThan(60 * 24 - 1);
      expect(status.hours.running).toBeLessThan(1);
    });
  });
});
