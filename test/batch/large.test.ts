import { describe, expect, it } from 'vitest';
import { numbered } from '../../client/batch-items.js';
import { uploadItems } from '../../client/batch-upload.js';
import type { AgentBatchInput } from '../../contract/batch.js';
import { roundFolder } from '../../contract/batch-files.js';
import { batchOf, items, resultsOf, until, useBatches } from './harness.js';

const world = useBatches();

/** All runs of a workflow. */
async function runsOf(workflowId: string): Promise<number[]> {
  const lengths: number[] = [];
  for await (const run of world.client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
    lengths.push(Number(run.historyLength));
  }
  return lengths;
}

describe('2,500 items', () => {
  it.each([50, 500])(
    'never exceed a window of %i, and each has one outcome',
    async (concurrency) => {
      world.alive.most = 0;
      const id = `large-${concurrency}`;
      await world.withWorker(async () => {
        const batch = await world.batches.submit(batchOf(items(2500), { id, concurrency }));
        const status = await until(batch, undefined, 580_000);
        expect(status).toMatchObject({ phase: 'completed', items: { completed: 2500, failed: 0 } });
      });
      expect(world.alive.most).toBeLessThanOrEqual(concurrency);
      const results = await resultsOf(world.batches.get(id));
      expect(new Set(results.map(({ item }) => item)).size).toBe(2500);
      expect(results).toHaveLength(2500);
      expect(Math.max(...(await runsOf(id)))).toBeLessThan(6000);
    },
    300_000,
  );
});

describe('a batch that continues as new again and again', () => {
  it('keeps its jobs and counts each end once', async () => {
    const round = {
      batchId: 'many-runs',
      number: 1,
      folders: [roundFolder('many-runs', 'x')],
      total: 150,
    };
    const { job } = batchOf([]);
    const source = { template: job, itemId: null, items: numbered(items(150, () => 'wait 200')), file: null };
    await uploadItems(world.store, round.folders[0] as string, source);
    const input: AgentBatchInput = {
      round,
      completedBefore: 0,
      policy: { concurrency: 12, ratePerSecond: null, stopAfter: null },
      priority: 4,
      continueAsNewAfterEvents: 40,
    };
    await world.withWorker(async () => {
      await world.client.workflow.start('agentBatch', {
        workflowId: round.batchId,
        taskQueue: world.temporal.config.taskQueue,
        args: [input],
        memo: { batch: { folder: round.folders[0], items: 150, round: 1 } },
      });
      const status = await until(world.batches.get('many-runs'));
      expect(status).toMatchObject({ phase: 'completed', items: { completed: 150 } });
    });
    const runs = await runsOf('many-runs');
    expect(runs.length).toBeGreaterThan(3);
    const results = await resultsOf(world.batches.get('many-runs'));
    expect(new Set(results.map(({ item }) => item)).size).toBe(150);
    for (const { jobId } of results) expect(world.alive.begun.get(jobId as string)).toBe(1);
  });
});
