/** The library against a real Temporal server and the real workflow; only the sandboxes are scripted. */

import { getEventListeners } from 'node:events';
import { Client, Connection } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import type { JobSpecSource } from '../../contract/job-spec.schema.js';
import type { JobStatus } from '../../contract/status.js';
import { cursor, done, ready, type Script } from '../workflows/job-harness.js';
import { inPhase, tell, until, useTemporal } from './temporal-server.js';

const temporal = useTemporal();

const spec: JobSpecSource = { sandbox: { image: 'team/agent:1', entrypoint: ['agent'] } };

/** Runs until it is paused or cancelled, at step 7. */
const runsOn: Script = {
  watchSandbox: ({ mode }) => (mode === 'starting' ? ready() : tell(() => cursor(7))),
};
const fails: Script = {
  watchSandbox: () => ({
    kind: 'agent-failed',
    cursor: cursor(3),
    message: 'out of memory',
    logs: 'last words',
  }),
};

describe('submitting', () => {
  it('names a job after its image, or as it was told', async () => {
    const { jobs } = temporal.longhaul;
    await temporal.withWorker({}, async () => {
      const unnamed = await jobs.submit(spec);
      expect(unnamed.id).toMatch(/^agent-[0-9a-z]{8}$/);
      expect((await jobs.submit({ ...spec, id: 'named' })).id).toBe('named');
      expect((await jobs.submit({ ...spec, id: 'named' }, { id: 'renamed' })).id).toBe('renamed');
      await Promise.all(['named', 'renamed', unnamed.id].map((id) => jobs.get(id).result()));
    });
    await expect(jobs.submit(spec, { id: 'not/../\n' })).rejects.toMatchObject({ code: 'SPEC_INVALID' });
  });

  it('refuses an ID that is in use, or attaches to the same work only', async () => {
    const { jobs } = temporal.longhaul;
    await jobs.submit({ ...spec, id: 'twice' });
    await expect(jobs.submit({ ...spec, id: 'twice' })).rejects.toMatchObject({ code: 'JOB_EXISTS' });
    const attached = await jobs.submit({ ...spec, id: 'twice' }, { ifExists: 'attach' });
    expect(attached.id).toBe('twice');
    const other = { ...spec, id: 'twice', checkpoint: { every: '1m' } };
    await expect(jobs.submit(other, { ifExists: 'attach' })).rejects.toMatchObject({
      code: 'JOB_EXISTS',
      message: expect.stringContaining('different spec'),
    });
    await temporal.withWorker({}, () => attached.result());
    await expect(jobs.submit({ ...spec, id: 'twice' })).rejects.toMatchObject({
      code: 'JOB_EXISTS',
      message: expect.stringContaining('completed'),
    });
  });

  it('allows the ID of a failed job again, and of a cancelled one', async () => {
    const { jobs } = temporal.longhaul;
    await temporal.withWorker(fails, async () => {
      const job = await jobs.submit({ ...spec, id: 'again' });
      await expect(job.result()).rejects.toMatchObject({ code: 'AGENT_FAILED', message: 'out of memory' });
    });
    await temporal.withWorker(runsOn, async () => {
      const job = await jobs.submit({ ...spec, id: 'again' });
      await job.cancel();
      await expect(job.result()).rejects.toMatchObject({ code: 'JOB_CANCELLED' });
    });
    await temporal.withWorker({}, async () => {
      const job = await jobs.submit({ ...spec, id: 'again' });
      expect(await job.result()).toBeNull();
    });
  });
});

describe('looking at a job', () => {
  it('shows each checkpoint of the watch, at no event in its history', async () => {
    let step = 10;
    const script: Script = {
      watchSandbox: ({ mode }) => (mode === 'starting' ? ready() : tell(() => cursor(step))),
    };
    await temporal.withWorker(script, async () => {
      const job = await temporal.longhaul.jobs.submit(spec);
      await until(
        () => job.status(),
        ({ checkpoint }) => checkpoint?.step === 10,
      );
      step = 11;
      const { phase } = await until(
        () => job.status(),
        ({ checkpoint }) => checkpoint?.step === 11,
      );
      expect(phase).toBe('running');
      const client = await clientOf(temporal.address);
      expect((await client.workflow.getHandle(job.id).describe()).historyLength).toBeLessThan(25);
      await client.connection.close();
      await job.cancel();
      await until(() => job.status(), inPhase('cancelled'));
    });
  });

  it('follows it through pause and resume to its result', async () => {
    let finish = false;
    const script: Script = {
      watchSandbox: ({ mode }) => {
        if (mode === 'starting') return ready(7);
        return finish ? done(9, { files: 3 }) : tell(() => cursor(7));
      },
    };
    await temporal.withWorker(script, async () => {
      const job = await temporal.longhaul.jobs.submit(spec);
      const phases: string[] = [];
      const { signal } = new AbortController();
      for await (const status of job.watch({ signal })) {
        if (phases.at(-1) !== status.phase) phases.push(status.phase);
        const hasPaused = status.receipts.some(({ kind }) => kind === 'pause');
        if (status.phase === 'running' && !hasPaused) await job.pause({ by: 'ana', reason: 'night' });
        if (status.phase === 'paused') {
          expect(status.holds).toMatchObject([{ kind: 'manual', by: 'ana', reason: 'night' }]);
          finish = true;
          await job.resume({ by: 'ana' });
        }
      }
      expect(phases).toEqual(expect.arrayContaining(['running', 'paused', 'completed']));
      // A watch of days makes many thousands of calls with this one signal.
      expect(getEventListeners(signal, 'abort')).toEqual([]);
      expect(await job.result()).toEqual({ files: 3 });
      await expect(job.pause()).rejects.toMatchObject({
        code: 'JOB_ENDED',
        message: expect.stringContaining('has ended (completed)'),
      });
    });
  });

  it('needs no worker for a job that has ended', async () => {
    const { jobs } = temporal.longhaul;
    const ids = { completed: 'ended-well', failed: 'ended-badly', cancelled: 'ended-early' };
    await temporal.withWorker(
      {},
      async () => void (await (await jobs.submit(spec, { id: ids.completed })).result()),
    );
    await temporal.withWorker(fails, async () => {
      await (await jobs.submit(spec, { id: ids.failed })).result().catch(() => {});
    });
    await temporal.withWorker(runsOn, async () => {
      const job = await jobs.submit(spec, { id: ids.cancelled });
      await until(() => job.status(), inPhase('running'));
      await job.cancel();
      expect(await until(() => job.status(), inPhase('cancelled'))).toMatchObject({
        sandbox: { state: 'deleted' },
      });
    });
    expect(await jobs.get(ids.completed).status()).toMatchObject({
      phase: 'completed',
      checkpoint: { step: 1 },
    });
    expect(await jobs.get(ids.failed).status()).toMatchObject({
      phase: 'failed',
      failure: { code: 'AGENT_FAILED', logs: 'last words' },
    });
    // The history of a cancelled workflow carries no status: this is what Temporal knows.
    const cancelled = await jobs.get(ids.cancelled).status();
    expect(cancelled).toMatchObject({ id: ids.cancelled, phase: 'cancelled', endedAt: expect.any(String) });
  });

  it('says that no worker answers for an open one, and still lists it', async () => {
    const { jobs } = temporal.longhaul;
    const job = await jobs.submit(spec, { id: 'waiting-for-a-worker' });
    const askedAt = Date.now();
    await expect(job.status()).rejects.toMatchObject({
      code: 'WORKER_UNREACHABLE',
      message: 'No worker answers on task queue "longhaul".',
      remedy: expect.stringContaining('longhaul worker'),
    });
    expect(Date.now() - askedAt).toBeLessThan(8000);
    const listed = await until(
      () => jobs.list({ openOnly: true }),
      (found) => found.some(({ id }) => id === job.id),
    );
    expect(listed.find(({ id }) => id === job.id)).toMatchObject({
      phase: 'scheduled',
      waitingFor: 'a worker on task queue "longhaul"',
    });
    await temporal.withWorker({}, () => job.result());
  });

  it('ends the waiting for a result when it is told to', async () => {
    const job = await temporal.longhaul.jobs.submit(spec);
    const stop = new AbortController();
    const result = job.result({ signal: stop.signal });
    setImmediate(() => stop.abort(new Error('enough')));
    await expect(result).rejects.toThrow('enough');
    await temporal.withWorker({}, () => job.result());
  });

  it('knows no job of an unknown ID, and none in a workflow of somebody else', async () => {
    const { jobs } = temporal.longhaul;
    const client = await clientOf(temporal.address);
    await client.workflow.start('somethingElse', { workflowId: 'foreign', taskQueue: 'elsewhere' });
    for (const id of ['nowhere', 'foreign']) {
      const job = jobs.get(id);
      for (const attempt of [() => job.status(), () => job.pause(), () => job.cancel()]) {
        await expect(attempt()).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' });
      }
    }
    await expect(jobs.submit(spec, { id: 'foreign' })).rejects.toMatchObject({ code: 'JOB_EXISTS' });
    await client.workflow.getHandle('foreign').terminate();
    await client.connection.close();
  });

  it('tells when somebody terminated its workflow', async () => {
    await temporal.withWorker(runsOn, async () => {
      const job = await temporal.longhaul.jobs.submit(spec);
      await until(() => job.status(), inPhase('running'));
      const client = await clientOf(temporal.address);
      await client.workflow.getHandle(job.id).terminate('by hand');
      await client.connection.close();
      expect(await job.status()).toMatchObject({
        phase: 'failed',
        sandbox: { id: 'sb-1' },
        failure: { code: 'UNEXPECTED', message: expect.stringMatching(/by hand.*sandbox may be left/) },
      });
    });
  });
});

describe('listing', () => {
  it('has one line for each ID, the latest first, and no more than asked for', async () => {
    const { jobs } = temporal.longhaul;
    const ids = ['list-1', 'list-2', 'list-3'];
    await temporal.withWorker({}, async () => {
      for (const id of ids) await (await jobs.submit(spec, { id })).result();
    });
    const found = await until(
      () => jobs.list(),
      (all) => ids.every((id) => all.some((job) => job.id === id && job.phase === 'completed')),
    );
    expect(new Set(found.map(({ id }) => id)).size).toBe(found.length);
    expect(found.map(({ id }) => id).filter((id) => ids.includes(id))).toEqual(ids.reverse());
    expect(found.find(({ id }) => id === 'list-1')).toMatchObject({ checkpoint: { step: 1 }, failure: null });
    expect(await jobs.list({ limit: 2 })).toHaveLength(2);
    expect(await jobs.list({ openOnly: true })).toEqual([]);
  });
});

// Last in its file, since it takes the server away.
describe('while Temporal is away', () => {
  it('a watch and the waiting for a result go on, and a status says so', async () => {
    const job = await temporal.longhaul.jobs.submit(spec);
    const troubles: string[] = [];
    const seen: JobStatus[] = [];
    const watching = (async () => {
      for await (const status of job.watch({ onTrouble: ({ code }) => troubles.push(code) }))
        seen.push(status);
    })();
    const result = job.result();
    const startAgain = await temporal.stop();
    await expect(job.status()).rejects.toMatchObject({ code: 'TEMPORAL_UNREACHABLE' });
    await until(
      async () => troubles,
      (codes) => codes.includes('TEMPORAL_UNREACHABLE'),
    );
    await startAgain();
    await temporal.withWorker({}, async () => {
      expect(await result).toBeNull();
      await watching;
    });
    expect(seen.at(-1)?.phase).toBe('completed');
  });
});

async function clientOf(address: string): Promise<Client> {
  return new Client({ connection: await Connection.connect({ address }) });
}
