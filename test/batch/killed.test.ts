import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { Batches } from '../../client/batches.js';
import { openStore } from '../../store/index.js';
import { batchOf, items, resultsOf, until, useBatches } from './harness.js';

const world = useBatches();
const SCRIPT = fileURLToPath(new URL('worker-process.mjs', import.meta.url));

let worker: ChildProcess | null = null;

function startWorker(): void {
  worker = spawn(process.execPath, [SCRIPT, world.bundle], {
    env: {
      PATH: process.env.PATH,
      TEMPORAL_ADDRESS: world.address,
      LONGHAUL_TASK_QUEUE: world.temporal.config.taskQueue,
      LONGHAUL_STORE: join(world.folder, 'store'),
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

async function killWorker(): Promise<void> {
  if (worker === null || worker.exitCode !== null || worker.signalCode !== null) return;
  const ended = once(worker, 'exit');
  worker.kill('SIGKILL');
  await ended;
}

afterEach(killWorker);

describe('a batch outlives', () => {
  it('the death of its worker, twice: no item is lost or done by two jobs', async () => {
    const batches = new Batches(world.temporal, () => openStore(join(world.folder, 'store'), {}));
    startWorker();
    const batch = await batches.submit(
      batchOf(
        items(100, () => 'wait 200'),
        { id: 'killed', concurrency: 20 },
      ),
    );
    for (const ended of [15, 50]) {
      await until(batch, ({ items: { completed } }) => completed >= ended, 120_000);
      await killWorker();
      startWorker();
    }
    const status = await until(batch, undefined, 200_000);
    expect(status).toMatchObject({ phase: 'completed', items: { completed: 100, failed: 0, inFlight: 0 } });
    const results = await resultsOf(batch);
    expect(results).toHaveLength(100);
    expect(new Set(results.map(({ item }) => item)).size).toBe(100);
    // Each job is one workflow: its first run is its only one.
    let jobs = 0;
    const query = "WorkflowType = 'agentJob' AND WorkflowId STARTS_WITH 'killed/'";
    for await (const _ of world.client.workflow.list({ query })) jobs += 1;
    expect(jobs).toBe(100);
    await batches.close();
  }, 400_000);
});
