import { ApplicationFailure } from '@temporalio/common';
import { expect, it } from 'vitest';
import { PAUSE_SIGNAL, RESUME_SIGNAL, TIMELINE_QUERY } from '../../contract/messages.js';
import type { JobEvent } from '../../contract/timeline.js';
import {
  done,
  nothingHappensForMonths,
  ready,
  type Script,
  useTimeSkipping,
  withSettings,
} from './job-harness.js';

const { withJob } = useTimeSkipping();

const watchSandbox: NonNullable<Script['watchSandbox']> = (watch, count) => {
  if (watch.mode === 'starting') return ready(count);
  return count === 1 ? nothingHappensForMonths() : done(9);
};

const PHASES = [
  'provisioning',
  'running',
  'pausing',
  'paused',
  'resuming',
  'running',
  'collecting',
  'completed',
];

it('every transition is in the event log once, in order, with its cause and the command that answers it', async () => {
  const log: JobEvent[] = [];
  let isDown = false;
  const recordEvents = (events: readonly JobEvent[]) => {
    if (isDown) throw ApplicationFailure.nonRetryable('the disk is full');
    log.push(...events);
  };
  await withJob({ watchSandbox, recordEvents }, async (job) => {
    await job.until(({ phase }) => phase === 'running');
    isDown = true;
    await job.handle.signal(PAUSE_SIGNAL, { by: 'ann', reason: 'lunch' });
    const paused = await job.until(({ phase, warnings }) => phase === 'paused' && warnings.length > 0);
    expect(paused.warnings[0]).toContain('event log');
    const timeline = await job.handle.query<JobEvent[]>(TIMELINE_QUERY);
    expect(timeline.at(-1)).toMatchObject({
      event: 'paused',
      cause: 'manual (ann): lunch',
      answerWith: `longhaul resume ${job.handle.workflowId}`,
    });
    isDown = false;
    await job.handle.signal(RESUME_SIGNAL, { by: 'ann' });
    await job.result();
    expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1));
    expect(log.filter(({ event, phase }) => event === phase).map(({ event }) => event)).toEqual(PHASES);
  });
});

it('a dead receiver holds nothing up, another one gets everything, and the end is delivered without the job', async () => {
  const got: Record<string, number[]> = { dead: [], alive: [] };
  let isDead = true;
  const notify = ['dead', 'alive'].map((url) => ({ url, events: null, secretEnv: null }));
  const deliverEvents: NonNullable<Script['deliverEvents']> = ({ target, events }) => {
    if (target.url === 'dead' && isDead) throw ApplicationFailure.retryable('connection refused');
    got[target.url]?.push(...events.map(({ seq }) => seq));
    return { deliveredThrough: events.at(-1)?.seq ?? 0, gone: false };
  };
  await withJob(
    { watchSandbox, deliverEvents },
    async (job, _, env) => {
      await job.until(({ phase }) => phase === 'running');
      await job.handle.signal(PAUSE_SIGNAL, { by: 'ann', reason: 'lunch' });
      await job.until(({ phase }) => phase === 'paused');
      await job.handle.signal(RESUME_SIGNAL, { by: 'ann' });
      const { status } = await job.result();
      expect(status.phase).toBe('completed');
      isDead = false;
      const { firstExecutionRunId } = (await job.handle.describe()).raw.workflowExecutionInfo as never;
      const { runId } = await job.handle.describe();
      const rest = `${job.handle.workflowId}/events-${firstExecutionRunId ?? runId}`;
      await env.client.workflow.getHandle(rest).result();
      const all = (await job.handle.query<JobEvent[]>(TIMELINE_QUERY)).map(({ seq }) => seq);
      expect(got.dead).toEqual(all);
      expect([...new Set(got.alive)]).toEqual(all);
    },
    { spec: withSettings({ notify }) },
  );
});
