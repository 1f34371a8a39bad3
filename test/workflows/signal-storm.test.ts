import { describe, expect, it } from 'vitest';
import { PAUSE_SIGNAL, RESUME_SIGNAL } from '../../contract/messages.js';
import { nothingHappens, ready, useDevServer } from './job-harness.js';

const { withJob } = useDevServer();

describe('a job under a storm of signals', () => {
  it('ends paused when the last of them is a pause, over many continue-as-news', async () => {
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
});
