import { describe, expect, it } from 'vitest';
import type { ItemOutcome } from '../../contract/batch.js';
import { batchOf, items, resultsOf, until, useBatches } from './harness.js';

const world = useBatches();

describe('a batch that runs', () => {
  it('is paused with honest counts, and resumed', async () => {
    await world.withWorker(async () => {
      const batch = await world.batches.submit(
        batchOf(
          items(60, () => 'wait 500'),
          { id: 'pausing', concurrency: 15 },
        ),
      );
      await until(batch, ({ live }) => (live?.running ?? 0) > 10);
      await batch.pause({ by: 'ann', reason: 'lunch' });
      const paused = await until(batch, ({ phase }) => phase === 'paused');
      expect(paused.hold).toMatchObject({ by: 'ann', reason: 'lunch' });
      expect(paused.live?.paused).toBe(paused.items.inFlight);
      expect(paused.waitingFor).toContain('lunch');
      expect(paused.remainingMs).toBeNull();
      const begun = world.alive.begun.size;
      await new Promise((resolve) => setTimeout(resolve, 1000));
      expect(world.alive.begun.size).toBe(begun);
      await batch.resume({ by: 'ann' });
      expect(await until(batch)).toMatchObject({ phase: 'completed', items: { completed: 60 } });
    });
  });

  it('is cancelled with all its jobs, and every item has an outcome', async () => {
    await world.withWorker(async () => {
      const batch = await world.batches.submit(
        batchOf(
          items(100, (index) => (index < 12 ? 'done' : 'wait')),
          { id: 'cancelling', concurrency: 20 },
        ),
      );
      await until(batch, ({ items: { completed, inFlight } }) => completed === 12 && inFlight === 20);
      await batch.cancel();
      const status = await until(batch);
      expect(status).toMatchObject({
        phase: 'cancelled',
        items: { completed: 12, cancelled: 20, inFlight: 0, pending: 68 },
      });
      expect(world.alive.now).toBe(0);
      const results = await resultsOf(batch);
      expect(results).toHaveLength(100);
      const cancelled = results.filter(({ outcome }) => outcome === 'cancelled');
      expect(cancelled).toHaveLength(20);
      // What a cancelled job has used is known, too.
      expect(cancelled[0]).toMatchObject({ code: 'JOB_CANCELLED', hours: { running: 1 }, sandboxes: 1 });
      await expect(batch.pause()).rejects.toMatchObject({ code: 'JOB_ENDED' });
    });
  });

  it('changes its concurrency at once, up and down', async () => {
    await world.withWorker(async () => {
      const batch = await world.batches.submit(
        batchOf(
          items(200, () => 'wait 1500'),
          { id: 'configured', concurrency: 5 },
        ),
      );
      const inFlight = (wanted: number) => until(batch, ({ items: { inFlight: now } }) => now === wanted);
      await inFlight(5);
      await batch.configure({ concurrency: 40 });
      await inFlight(40);
      await batch.configure({ concurrency: 3, stopAfter: '5%' });
      const status = await inFlight(3);
      expect(status.policy).toEqual({ concurrency: 3, ratePerSecond: null, stopAfter: { percent: 5 } });
      await expect(batch.configure({ concurrency: 0 })).rejects.toMatchObject({ code: 'SPEC_INVALID' });
      await batch.cancel();
      await until(batch);
    });
  });

  it('keeps to a rate of starts', async () => {
    await world.withWorker(async () => {
      const startedMs = Date.now();
      const batch = await world.batches.submit(batchOf(items(15), { id: 'slowly', rate: '5/s' }));
      await until(batch);
      expect(Date.now() - startedMs).toBeGreaterThan(2500);
    });
  });

  it('notices a job that was terminated', async () => {
    await world.withWorker(async () => {
      const batch = await world.batches.submit(
        batchOf(
          items(3, () => 'wait'),
          { id: 'terminated' },
        ),
      );
      await until(batch, ({ live }) => live?.running === 3);
      await world.client.workflow.getHandle('terminated/i1').terminate('by a test');
      const status = await until(batch, ({ items: { failed } }) => failed === 1);
      expect(status.causes[0]).toMatchObject({ code: 'UNEXPECTED', example: { item: 'i1' } });
      await batch.cancel();
      await until(batch);
      expect((await resultsOf(batch)).find(({ item }) => item === 'i1')).toMatchObject({ outcome: 'failed' });
    });
  });

  it('streams its results while it runs', async () => {
    await world.withWorker(async () => {
      const batch = await world.batches.submit(
        batchOf(
          items(30, (index) => `wait ${300 + 100 * index}`),
          { id: 'streamed', concurrency: 30 },
        ),
      );
      const streamed: ItemOutcome[] = [];
      let inFlightAtFirst = 0;
      for await (const outcome of batch.results({ follow: true })) {
        if (streamed.length === 0) inFlightAtFirst = (await batch.status()).items.inFlight;
        streamed.push(outcome);
      }
      expect(inFlightAtFirst).toBeGreaterThan(0);
      expect(new Set(streamed.map(({ item }) => item)).size).toBe(30);
      expect(streamed).toHaveLength(30);
      expect(await world.batches.list()).toContainEqual(
        expect.objectContaining({
          id: 'streamed',
          items: 30,
          status: expect.objectContaining({ phase: 'completed' }),
        }),
      );
    });
  });
});
