/** A worker for batches in a process of its own, so that it can be killed: worker-process.mjs BUNDLE. */

import { Client } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { createBatchActivities } from '../../dist/activities/batch/index.js';
import { openStore } from '../../dist/store/index.js';

Runtime.install({ logger: new DefaultLogger('ERROR') });
const connection = await NativeConnection.connect({ address: process.env.TEMPORAL_ADDRESS });
const worker = await Worker.create({
  connection,
  taskQueue: process.env.LONGHAUL_TASK_QUEUE,
  workflowBundle: { codePath: process.argv[2] },
  activities: createBatchActivities({
    client: new Client({ connection }),
    store: await openStore(process.env.LONGHAUL_STORE, process.env),
  }),
  sinks: { jobs: { begin: { fn() {} }, end: { fn() {} } } },
  maxHeartbeatThrottleInterval: 200,
});
await worker.run();
