/** The worker process: configuration → runtime (logs, metrics) → connection → worker, and back in that order. */

import { Client } from '@temporalio/client';
import { NativeConnection, type NativeConnectionOptions, Runtime, Worker } from '@temporalio/worker';
import {
  connectSandboxApi,
  createActivities,
  LocalWatches,
  sandboxFiles,
  secretsFrom,
} from '../activities/index.js';
import { isZoneDataOld, zoneData } from '../calendar/index.js';
import { openStore } from '../store/index.js';
import { WORKFLOW_BUNDLE } from './bundle.js';
import { workerConfig } from './config.js';
import { serveHealth } from './health.js';
import { createLogger, logJobIds, temporalLogger } from './logging.js';

export interface TemporalTarget {
  readonly connection: NativeConnectionOptions;
  readonly namespace: string;
}

/** Activities that change something; besides the watches, which only wait for the network. */
const CONTROL_SLOTS = 200;

/**
 * Runs until SIGTERM or SIGINT, then lets requests in flight finish and returns. No job notices: what was
 * cut off goes on in the next worker.
 * @throws WorkerConfigError; errors of the connection to Temporal.
 */
export async function runWorker(
  env: Readonly<Record<string, string | undefined>>,
  temporal: TemporalTarget,
): Promise<void> {
  const config = workerConfig(env);
  const logger = createLogger(config.logLevel);
  // Once in a process, and before any connection.
  Runtime.install({
    logger: temporalLogger(logger),
    telemetryOptions: {
      logging: { forward: {}, filter: { core: 'WARN', other: 'WARN' } },
      ...(config.metrics === null
        ? {}
        : { metrics: { prometheus: { bindAddress: `${config.metrics.host}:${config.metrics.port}` } } }),
    },
  });
  const connection = await NativeConnection.connect(temporal.connection);
  const api = connectSandboxApi(config.sandboxApi);
  const store = await openStore(config.store, env);
  const watches = new LocalWatches();
  try {
    const worker = await Worker.create({
      connection,
      namespace: temporal.namespace,
      taskQueue: config.taskQueue,
      workflowBundle: { codePath: WORKFLOW_BUNDLE },
      activities: createActivities({
        api,
        files: sandboxFiles(api),
        store,
        client: new Client({ connection, namespace: temporal.namespace }),
        secrets: secretsFrom(env),
        watches,
        profile: config.watch,
        namespace: temporal.namespace,
      }),
      maxConcurrentActivityTaskExecutions: config.maxWatches + CONTROL_SLOTS,
      maxHeartbeatThrottleInterval: config.heartbeatThrottleMs,
      workflowTaskPollerBehavior: { type: 'autoscaling' },
      activityTaskPollerBehavior: { type: 'autoscaling' },
      shutdownGraceTime: config.shutdownGraceMs,
      shutdownForceTime: config.shutdownGraceMs + 10_000,
      interceptors: { activity: [logJobIds] },
    });
    const health =
      config.health === null
        ? null
        : await serveHealth(config.health, () => ({ state: worker.getState(), watching: watches.size }));
    logger.info(
      {
        event: 'worker.started',
        taskQueue: config.taskQueue,
        namespace: temporal.namespace,
        sandboxApi: config.sandboxApi.apiUrl,
        health: health?.url,
      },
      'worker started',
    );
    if (isZoneDataOld(Date.now())) {
      logger.warn(
        { event: 'zone-data.old', version: zoneData().version },
        'the zone data is old, and clocks may be changed otherwise by now; update longhaul',
      );
    }
    if (config.stopsWithParent) process.stdin.on('end', () => worker.shutdown()).resume();
    try {
      await worker.run();
    } finally {
      // An open pipe would keep the process alive.
      if (isZoneDataOld(Date.now())) {
        logger.warn(
          { event: 'zone-data.old', version: zoneData().version },
          'the zone data is old, and clocks may be changed otherwise by now; update longhaul',
        );
      }
      if (config.stopsWithParent) process.stdin.destroy();
      await health?.close();
    }
    logger.info({ event: 'worker.stopped' }, 'worker stopped');
  } finally {
    await api.close();
    await store.close();
    await connection.close();
  }
}
