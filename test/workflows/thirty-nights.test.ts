import { Context } from '@temporalio/activity';
import { expect, it } from 'vitest';
import type { ResumeOutcome } from '../../contract/activities.js';
import type { WindowRule } from '../../contract/windows.js';
import {
  done,
  nothingHappensForMonths,
  profile,
  ready,
  useTimeSkipping,
  withSettings,
} from './job-harness.js';

const { withJob, inMs } = useTimeSkipping();

const HOUR_MS = 3_600_000;
const NIGHTS = 30;

it('a month of nightly windows is one pause and one resume a night, in at most 40 events each', async () => {
  const periods = await Promise.all(
    Array.from({ length: NIGHTS }, async (_, index) => ({
      start: await inMs((index * 24 + 1) * HOUR_MS),
      end: await inMs((index * 24 + 9) * HOUR_MS),
      reason: null,
    })),
  );
  const watchSandbox = (watch: { mode: string }, count: number) => {
    if (watch.mode === 'starting') return ready(count);
    return count <= NIGHTS ? nothingHappensForMonths() : done(count);
  };
  // The agent answers at once, as most do.
  const resumeSandbox = (count: number): ResumeOutcome => {
    const now = new Date(Context.current().info.currentAttemptScheduledTimestampMs).toISOString();
    return { kind: 'running', requestedAt: now, observedAt: now, profile, firstWatch: ready(count) };
  };
  const spec = withSettings({ pauseWindows: [{} as WindowRule], windowSpreadMs: 0 });
  await withJob(
    { periods, watchSandbox, resumeSandbox },
    async (job, calls) => {
      const { status } = await job.result();
      expect(calls.filter((call) => call === 'pause')).toHaveLength(NIGHTS);
      expect(calls.filter((call) => call === 'resume')).toHaveLength(NIGHTS);
      expect(status.hours.paused).toBeCloseTo(NIGHTS * 8, 0);
      const { historyLength } = await job.handle.describe();
      expect(historyLength / NIGHTS).toBeLessThanOrEqual(40);
    },
    { spec },
  );
});
