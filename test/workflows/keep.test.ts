import { expect, it } from 'vitest';
import type { WatchOutcome } from '../../contract/activities.js';
import { KEEP_SIGNAL, keeperId, RELEASE_SIGNAL } from '../../contract/messages.js';
import { cursor, ready, type Script, useDevServer, withSettings } from './job-harness.js';

// In real time: while a result is awaited, the other server skips to the end of the keeping.
const { withJob } = useDevServer();

const failing: WatchOutcome = { kind: 'agent-failed', cursor: cursor(3), message: 'no', logs: null };
const script: Script = { watchSandbox: (input) => (input.mode === 'starting' ? ready(1) : failing) };
const keptFor = (keepOnFailureMs: number) => ({ spec: { ...withSettings({}), keepOnFailureMs } });

it('the sandbox of a failed job is kept, paused, until its time is over, and then deleted without the job', async () => {
  await withJob(
    script,
    async (job, calls, env) => {
      const error = await job.result().catch((failure) => failure);
      expect(error.cause).toMatchObject({ type: 'AGENT_FAILED', details: [{ kept: { sandboxId: 'sb-1' } }] });
      expect(calls).toEqual(['create', 'watch starting', 'watch running', 'pause']);
      const { runId } = await job.handle.describe();
      await env.client.workflow.getHandle(keeperId(job.handle.workflowId, runId)).result();
      expect(calls.at(-1)).toBe('delete');
    },
    keptFor(1500),
  );
});

it('it is kept for longer when somebody asks, and deleted at once when they release it', async () => {
  await withJob(
    script,
    async (job, calls, env) => {
      await job.result().catch(() => {});
      const { runId } = await job.handle.describe();
      const keeper = env.client.workflow.getHandle(keeperId(job.handle.workflowId, runId));
      await keeper.signal(KEEP_SIGNAL, { until: new Date(Date.now() + 3_600_000).toISOString() });
      await new Promise((resolve) => setTimeout(resolve, 2500));
      expect(calls).not.toContain('delete');
      await keeper.signal(RELEASE_SIGNAL);
      await keeper.result();
      expect(calls.at(-1)).toBe('delete');
    },
    keptFor(2000),
  );
});
