import { describe, expect, it } from 'vitest';
import { countingJob, processesOf, until, useStack } from './stack.js';

const world = useStack();

async function eventually(isSo: () => boolean | Promise<boolean>, timeoutMs = 30_000): Promise<void> {
  for (const giveUpAt = Date.now() + timeoutMs; !(await isSo()); ) {
    if (Date.now() > giveUpAt) throw new Error('It never became so.');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe('a job outlives', () => {
  it('the death of its worker: the agent runs on, and is watched again', async () => {
    const job = await world.longhaul.jobs.submit(countingJob(150, 100));
    await until(job, ({ checkpoint }) => (checkpoint?.step ?? 0) >= 5);
    const pid = world.stack.worker.pid as number;
    process.kill(pid, 'SIGKILL');
    await eventually(() => world.stack.worker.pid !== null && world.stack.worker.pid !== pid);
    expect(await job.result()).toEqual({ marks: 150, starts: 1 });
    expect((await job.status()).receipts).toEqual([]);
    expect(await world.api.list({ metadata: {} })).toEqual([]);
  });

  it('the death of its worker while it is paused', async () => {
    const job = await world.longhaul.jobs.submit(countingJob(80, 100));
    await until(job, ({ checkpoint }) => (checkpoint?.step ?? 0) >= 2);
    await job.pause();
    await until(job, ({ phase }) => phase === 'paused');
    process.kill(world.stack.worker.pid as number, 'SIGKILL');
    await job.resume();
    expect(await job.result()).toEqual({ marks: 80, starts: 2 });
  });

  it('the death of the sandbox server: the same process goes on', async () => {
    const job = await world.longhaul.jobs.submit(countingJob(80, 100));
    await until(job, ({ checkpoint }) => (checkpoint?.step ?? 0) >= 5);
    process.kill(world.stack.sandboxServer.pid as number, 'SIGKILL');
    expect(await job.result()).toEqual({ marks: 80, starts: 1 });
    expect(processesOf(job.id)).toEqual([]);
  });

  it('a sandbox server that does not answer for a while', async () => {
    const job = await world.longhaul.jobs.submit(countingJob(100, 100));
    await until(job, ({ checkpoint }) => (checkpoint?.step ?? 0) >= 5);
    const pid = world.stack.sandboxServer.pid as number;
    process.kill(pid, 'SIGSTOP');
    const { verdict, phase } = await until(job, ({ verdict: now }) => now?.is === 'unreachable');
    expect(phase).toBe('running');
    expect(verdict?.because).toContain('no answer');
    process.kill(pid, 'SIGCONT');
    expect(await job.result()).toEqual({ marks: 100, starts: 1 });
  });

  it('both deaths at once, in the middle of a pause', async () => {
    const job = await world.longhaul.jobs.submit(countingJob(80, 100));
    await until(job, ({ checkpoint }) => (checkpoint?.step ?? 0) >= 3);
    await job.pause();
    process.kill(world.stack.worker.pid as number, 'SIGKILL');
    process.kill(world.stack.sandboxServer.pid as number, 'SIGKILL');
    await until(job, ({ phase }) => phase === 'paused');
    expect(processesOf(job.id)).toEqual([]);
    await job.resume();
    expect(await job.result()).toEqual({ marks: 80, starts: 2 });
    expect(await world.api.list({ metadata: {} })).toEqual([]);
  });
});
