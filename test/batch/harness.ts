/** A real Temporal server with a worker that runs the real batch workflow over jobs that do as they are told. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import {
  bundleWorkflowCode,
  DefaultLogger,
  type InjectedSinks,
  NativeConnection,
  Runtime,
  Worker,
} from '@temporalio/worker';
import { afterAll, beforeAll, inject } from 'vitest';
import { createBatchActivities } from '../../activities/batch/index.js';
import type { BatchHandle } from '../../client/batch-handle.js';
import type { LiveBatchStatus } from '../../client/batch-reading.js';
import { Batches } from '../../client/batches.js';
import { connectionConfig } from '../../client/connection.js';
import { Temporal } from '../../client/temporal.js';
import type { ItemOutcome } from '../../contract/batch.js';
import type { BatchSource } from '../../contract/batch.schema.js';
import { SEARCH_ATTRIBUTES } from '../../contract/messages.js';
import { type DevServer, startDevServer } from '../../local/temporal/index.js';
import { memoryStore } from './memory-store.js';
import type { JobSinks } from './stub-workflows.js';

export interface World {
  readonly folder: string;
  readonly address: string;
  readonly store: ReturnType<typeof memoryStore>;
  readonly temporal: Temporal;
  readonly client: Client;
  readonly batches: Batches;
  /** Jobs that have begun and not ended, now and at most, and how often each began. */
  readonly alive: { now: number; most: number; readonly begun: Map<string, number> };
  readonly bundle: string;
  withWorker<T>(steps: () => Promise<T>): Promise<T>;
}

/** Call once in a test file; the result is there when tests run. */
export function useBatches(): World {
  const world = {
    store: memoryStore(),
    alive: { now: 0, most: 0, begun: new Map() },
  } as unknown as { -readonly [key in keyof World]: World[key] };
  let server: DevServer;
  let native: NativeConnection;

  beforeAll(async () => {
    Runtime.install({ logger: new DefaultLogger('ERROR') });
    world.folder = mkdtempSync(join(tmpdir(), 'longhaul-batch-'));
    server = await startDevServer({
      cliPath: inject('temporalCli'),
      dbFile: join(world.folder, 'temporal.db'),
      logFile: join(world.folder, 'temporal.log'),
      searchAttributes: SEARCH_ATTRIBUTES,
    });
    world.address = server.address;
    world.bundle = join(world.folder, 'bundle.js');
    writeFileSync(world.bundle, await stubBundle());
    native = await NativeConnection.connect({ address: server.address });
    world.client = new Client({ connection: native });
    world.temporal = await Temporal.connect(connectionConfig({}, { address: server.address }));
    world.batches = new Batches(world.temporal, async () => world.store);
    world.withWorker = async (steps) => {
      const worker = await Worker.create({
        connection: native,
        taskQueue: world.temporal.config.taskQueue,
        workflowBundle: { codePath: world.bundle },
        activities: createBatchActivities({ client: world.client, store: world.store }),
        sinks: counting(world.alive),
        maxHeartbeatThrottleInterval: 200,
        maxConcurrentActivityTaskExecutions: 500,
      });
      return worker.runUntil(steps);
    };
  });

  afterAll(async () => {
    await world.temporal?.close();
    await native?.close();
    await server?.stop();
    rmSync(world.folder, { recursive: true, force: true });
  });

  return world;
}

function counting(alive: World['alive']): InjectedSinks<JobSinks> {
  const running = new Set<string>();
  return {
    jobs: {
      begin: {
        fn: (_, id) => {
          alive.begun.set(id, (alive.begun.get(id) ?? 0) + 1);
          running.add(id);
          alive.now = running.size;
          alive.most = Math.max(alive.most, alive.now);
        },
      },
      end: {
        fn: (_, id) => {
          // A task that is done again ends its job again.
          running.delete(id);
          alive.now = running.size;
        },
      },
    },
  };
}

async function stubBundle(): Promise<string> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('stub-workflows.ts', import.meta.url)),
    logger: { log() {}, trace() {}, debug() {}, info() {}, warn: console.warn, error: console.error },
  });
  return code;
}

/** A batch over these items; each says in `do` what its job does. */
export function batchOf(items: readonly unknown[], more: Partial<BatchSource> = {}): BatchSource {
  return {
    items: [...items],
    job: {
      sandbox: { image: 'test', entrypoint: ['agent'], env: { DO: '{{item.do}}', SAY: '{{item.id}}' } },
    },
    ...more,
  } as BatchSource;
}

export function items(count: number, what: (index: number) => string = () => 'done') {
  return Array.from({ length: count }, (_, index) => ({ id: `i${index}`, do: what(index) }));
}

export async function until(
  batch: BatchHandle,
  isSo: (status: LiveBatchStatus) => boolean = ({ endedAt }) => endedAt !== null,
  timeoutMs = 50_000,
): Promise<LiveBatchStatus> {
  let last: LiveBatchStatus | undefined;
  for await (const status of batch.watch({ signal: AbortSignal.timeout(timeoutMs) })) {
    if (isSo(status)) return status;
    last = status;
  }
  throw new Error(`Never so within ${timeoutMs} ms; last: ${JSON.stringify(last)}`);
}

export async function resultsOf(batch: BatchHandle): Promise<ItemOutcome[]> {
  const outcomes: ItemOutcome[] = [];
  for await (const outcome of batch.results()) outcomes.push(outcome);
  return outcomes;
}
