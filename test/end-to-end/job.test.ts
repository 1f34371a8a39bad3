import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { countingJob, processesOf, until, useStack } from './stack.js';

const world = useStack();

describe('a job on real servers and real processes', () => {
  it('does its work once, and leaves nothing', async () => {
    const job = await world.longhaul.jobs.submit(countingJob(10, 50));
    expect(await job.result()).toEqual({ marks: 10, starts: 1 });
    expect(await job.status()).toMatchObject({
      phase: 'completed',
      sandbox: { state: 'deleted', incarnation: 1 },
    });
    expect(await world.api.list({ metadata: {} })).toEqual([]);
    expect(processesOf(job.id)).toEqual([]);
  });

  it('has no process while it is paused, keeps its workspace, and goes on where it was', async () => {
    const job = await world.longhaul.jobs.submit(countingJob(80, 100));
    await until(job, ({ checkpoint }) => (checkpoint?.step ?? 0) >= 5);
    expect(processesOf(job.id).length).toBeGreaterThan(0);
    await job.pause({ by: 'test', reason: 'to look' });
    const { sandbox, receipts, waitingFor } = await until(job, ({ phase }) => phase === 'paused');

    expect(processesOf(job.id)).toEqual([]);
    expect(waitingFor?.what).toBe('a resume (paused by test: to look)');
    expect(receipts).toMatchObject([{ kind: 'pause', before: { step: expect.any(Number) } }]);
    const workspace = join(world.stack.workspaces, sandbox?.id as string, 'workspace');
    expect(existsSync(join(workspace, 'marks'))).toBe(true);
    const marks = readFileSync(join(workspace, 'marks'), 'utf8').trim().split('\n').length;

    await job.resume({ by: 'test' });
    expect(await job.result()).toEqual({ marks: 80, starts: 2 });
    const { receipts: all, hours } = await job.status();
    expect(all).toMatchObject([
      { kind: 'pause' },
      { kind: 'resume', incarnation: 2, regressed: false, after: { step: expect.any(Number) } },
    ]);
    expect(all[1]?.after?.step).toBeGreaterThanOrEqual(marks);
    expect(hours.paused).toBeGreaterThan(0);
  });

  it.each([
    ['does not exist', ['/no/such/program']],
    ['exits', ['/bin/sh', '-c', 'echo I give up; exit 3']],
  ])('fails with the logs of the sandbox when its entrypoint %s', async (_, entrypoint) => {
    const job = await world.longhaul.jobs.submit({
      sandbox: { image: 'x', entrypoint },
      checkpoint: { every: '200ms', stallAfter: '1m' },
    });
    await expect(job.result()).rejects.toMatchObject({ code: 'AGENT_EXITED' });
    const { failure, phase } = await job.status();
    expect(phase).toBe('failed');
    expect(failure?.logs).toMatch(/not found|I give up/);
    expect(await world.api.list({ metadata: {} })).toEqual([]);
  });

  it('is cancelled at any moment without leaving anything', async () => {
    const delaysMs = [0, 20, 60, 150, 400, 1000];
    const jobs = await Promise.all(delaysMs.map(() => world.longhaul.jobs.submit(countingJob(1000, 100))));
    await Promise.all(
      jobs.map(async (job, index) => {
        await new Promise((resolve) => setTimeout(resolve, delaysMs[index]));
        await job.cancel();
        await expect(job.result()).rejects.toMatchObject({ code: 'JOB_CANCELLED' });
        expect(processesOf(job.id)).toEqual([]);
      }),
    );
    expect(await world.api.list({ metadata: {} })).toEqual([]);
  });

  it('writes few events, however often it is polled', async () => {
    const job = await world.longhaul.jobs.submit(countingJob(60, 100));
    await job.result();
    const { Connection } = await import('@temporalio/client');
    const connection = await Connection.connect({ address: world.stack.session.temporal.address });
    const { Client } = await import('@temporalio/client');
    const description = await new Client({ connection }).workflow.getHandle(job.id).describe();
    await connection.close();
    expect(description.historyLength).toBeLessThan(40);
  });

  it('is one job, however often it is submitted', async () => {
    const spec = { id: 'only-once', ...countingJob(20, 100) };
    const answers = await Promise.allSettled([1, 2, 3].map(() => world.longhaul.jobs.submit(spec)));
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await expect(world.longhaul.jobs.submit(countingJobWithOtherSpec())).rejects.toMatchObject({
      code: 'JOB_EXISTS',
    });
    const attached = await world.longhaul.jobs.submit(spec, { ifExists: 'attach' });
    expect(await attached.result()).toEqual({ marks: 20, starts: 1 });
    await expect(world.longhaul.jobs.submit(spec)).rejects.toMatchObject({ code: 'JOB_EXISTS' });
  });
});

function countingJobWithOtherSpec() {
  return { id: 'only-once', ...countingJob(21, 100) };
}
