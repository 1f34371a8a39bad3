/** A real Temporal server of its own for a test file, with real workers that run the real workflow. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Context } from '@temporalio/activity';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, inject } from 'vitest';
import { Longhaul } from '../../client/longhaul.js';
import type { WatchCursor } from '../../contract/activities.js';
import { SEARCH_ATTRIBUTES } from '../../contract/messages.js';
import type { JobStatus } from '../../contract/status.js';
import { type DevServer, startDevServer } from '../../local/temporal/index.js';
import { type Script, scripted } from '../workflows/job-harness.js';

const HEARTBEAT_THROTTLE_MS = 50;

/** Call once in a test file. */
export function useTemporal() {
  let folder: string;
  let server: DevServer;
  let longhaul: Longhaul;

  const start = (port?: number) =>
    startDevServer({
      cliPath: inject('temporalCli'),
      dbFile: join(folder, 'temporal.db'),
      logFile: join(folder, 'temporal.log'),
      searchAttributes: SEARCH_ATTRIBUTES,
      ...(port === undefined ? {} : { port }),
    });

  beforeAll(async () => {
    Runtime.install({ logger: new DefaultLogger('ERROR') });
    folder = mkdtempSync(join(tmpdir(), 'longhaul-client-'));
    server = await start();
    longhaul = await Longhaul.connect({ address: server.address, env: {} });
  });

  afterAll(async () => {
    await longhaul?.close();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  return {
    get longhaul() {
      return longhaul;
    },
    get address() {
      return server.address;
    },
    /** Ends the server, and starts it again with the same data at the same address. */
    async stop(): Promise<() => Promise<void>> {
      await server.stop();
      return async () => {
        server = await start(Number(server.address.split(':')[1]));
      };
    },
    /** Runs a worker with these activities for as long as the steps last. */
    async withWorker<T>(script: Script, steps: () => Promise<T>): Promise<T> {
      const connection = await NativeConnection.connect({ address: server.address });
      try {
        const worker = await Worker.create({
          connection,
          taskQueue: longhaul.config.taskQueue,
          workflowBundle: { codePath: inject('workflowBundle') },
          activities: scripted(script).activities,
          maxHeartbeatThrottleInterval: HEARTBEAT_THROTTLE_MS,
        });
        return await worker.runUntil(steps);
      } finally {
        await connection.close();
      }
    },
  };
}

/** A watch that tells its cursor by heartbeats until it is cancelled. */
export async function tell(cursorNow: () => WatchCursor): Promise<never> {
  const context = Context.current();
  const beating = setInterval(() => context.heartbeat(cursorNow()), 2 * HEARTBEAT_THROTTLE_MS);
  try {
    return await context.cancelled;
  } finally {
    clearInterval(beating);
  }
}

/** Asks, in real time, until the answer is so. */
export async function until<T>(ask: () => Promise<T>, isSo: (answer: T) => boolean): Promise<T> {
  for (const giveUpAt = Date.now() + 30_000; ; ) {
    const answer = await ask();
    if (isSo(answer)) return answer;
    if (Date.now() > giveUpAt) throw new Error(`Never so: ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export const inPhase = (phase: JobStatus['phase']) => (status: JobStatus) => status.phase === phase;
