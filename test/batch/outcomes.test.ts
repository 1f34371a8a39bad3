import { describe, expect, it } from 'vitest';
import type { ItemOutcome } from '../../contract/batch.js';
import { batchOf, items, resultsOf, until, useBatches } from './harness.js';

const world = useBatches();

const count = (results: readonly ItemOutcome[], outcome: string) =>
  results.filter((each) => each.outcome === outcome).length;

describe('a batch', () => {
  it('takes every item to its end and leaves one outcome for each', async () => {
    const status = await world.withWorker(async () => {
      const batch = await world.batches.submit(batchOf(items(40), { id: 'all-good', concurrency: 8 }));
      return until(batch);
    });
    expect(status).toMatchObject({
      phase: 'completed',
      items: { total: 40, completed: 40, failed: 0, inFlight: 0, pending: 0 },
      sandboxes: 40,
      hours: { running: 40, provisioning: 20 },
      live: null,
    });
    const results = await resultsOf(world.batches.get('all-good'));
    expect(results.map(({ item }) => item).sort()).toEqual(
      items(40)
        .map(({ id }) => id)
        .sort(),
    );
    expect(results.find(({ item }) => item === 'i7')).toMatchObject({
      index: 7,
      line: 8,
      attempt: 1,
      jobId: 'all-good/i7',
      outcome: 'completed',
      hours: { running: 1 },
      sandboxes: 1,
      result: { said: 'i7' },
    });
    expect(world.alive.most).toBeLessThanOrEqual(8);
  });

  it('lets an item fail alone, and tries the failed ones again on demand', async () => {
    const what = (index: number) =>
      index === 7 ? 'fail SANDBOX_REJECTED' : index === 12 ? 'fail AGENT_FAILED' : 'done';
    await world.withWorker(async () => {
      const batch = await world.batches.submit(batchOf(items(20, what), { id: 'two-bad', concurrency: 4 }));
      const status = await until(batch);
      expect(status).toMatchObject({ phase: 'partially-failed', items: { completed: 18, failed: 2 } });
      expect(status.causes.map(({ code, count: times }) => [code, times])).toEqual(
        expect.arrayContaining([
          ['SANDBOX_REJECTED', 1],
          ['AGENT_FAILED', 1],
        ]),
      );
      const results = await resultsOf(batch);
      expect(results).toHaveLength(20);
      expect(results.find(({ item }) => item === 'i12')).toMatchObject({
        outcome: 'failed',
        code: 'AGENT_FAILED',
        message: 'It failed with AGENT_FAILED.',
        hours: { running: 1 },
      });

      expect(await world.batches.retry('two-bad', 'failed')).toBe(2);
      const retried = await until(batch, ({ round, endedAt }) => round === 2 && endedAt !== null);
      expect(retried).toMatchObject({ round: 2, items: { total: 20, completed: 18, failed: 2 } });
      const latest = await resultsOf(batch);
      expect(latest).toHaveLength(20);
      expect(latest.filter(({ attempt }) => attempt === 2).map(({ jobId }) => jobId)).toEqual(
        expect.arrayContaining(['two-bad/i7/2', 'two-bad/i12/2']),
      );
      const all: ItemOutcome[] = [];
      for await (const outcome of batch.results({ allAttempts: true })) all.push(outcome);
      expect(all).toHaveLength(22);
      expect([...world.alive.begun].filter(([id]) => id.startsWith('two-bad/i1/')).length).toBe(0);
    });
  });

  it('stops after so many failures, and says of the rest that it was not started', async () => {
    const what = (index: number) => (index >= 10 ? 'fail AGENT_FAILED' : 'done');
    await world.withWorker(async () => {
      const batch = await world.batches.submit(
        batchOf(items(100, what), { id: 'stopping', concurrency: 2, stopAfter: 5 }),
      );
      const status = await until(batch);
      expect(status.phase).toBe('stopped');
      expect(status.items.failed).toBeGreaterThanOrEqual(5);
      expect(status.items.failed).toBeLessThanOrEqual(7);
      const results = await resultsOf(batch);
      expect(results).toHaveLength(100);
      expect(count(results, 'not-started')).toBe(status.items.pending);
      expect(results.find(({ outcome }) => outcome === 'not-started')?.message).toContain('stopped after');

      expect(await world.batches.retry('stopping', 'unfinished')).toBe(90);
      await batch.cancel();
      await until(batch);
    });
  });

  it('opens a breaker instead of letting all items find out the same', async () => {
    await world.withWorker(async () => {
      const batch = await world.batches.submit(
        batchOf(
          items(500, () => 'fail SANDBOX_START_FAILED'),
          { id: 'bad-image', concurrency: 100 },
        ),
      );
      const status = await until(
        batch,
        ({ phase, items: { inFlight } }) => phase === 'blocked' && inFlight === 0,
      );
      expect(status.items.failed).toBe(10);
      expect(status.breaker).toMatchObject({ code: 'SANDBOX_START_FAILED', failures: 10 });
      expect(status.remainingMs).toBeNull();
      await batch.cancel();
      expect(await until(batch)).toMatchObject({ phase: 'cancelled', items: { failed: 10, pending: 490 } });
      expect(await resultsOf(batch)).toHaveLength(500);
    });
  });

  it('leaves an ID of another job alone', async () => {
    await world.withWorker(async () => {
      await world.client.workflow.start('agentJob', {
        workflowId: 'clash/i1',
        taskQueue: world.temporal.config.taskQueue,
        args: [{ spec: { sandbox: { env: { DO: 'done' } } } }],
      });
      const batch = await world.batches.submit(batchOf(items(3), { id: 'clash' }));
      expect(await until(batch)).toMatchObject({ items: { completed: 2, failed: 1 } });
      const results = await resultsOf(batch);
      expect(results.find(({ item }) => item === 'i1')).toMatchObject({
        outcome: 'failed',
        code: 'JOB_EXISTS',
      });
      await expect(world.batches.submit(batchOf(items(3), { id: 'clash' }))).rejects.toMatchObject({
        code: 'JOB_EXISTS',
      });
    });
  });
});
