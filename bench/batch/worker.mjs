/** One worker process of the benchmark: `worker.mjs longhaul` is the product's own, `worker.mjs plain` the sample's. */

import { fileURLToPath } from 'node:url';
import { NativeConnection, Worker } from '@temporalio/worker';
import { runWorker } from '../../dist/workers/main.js';

const address = process.env.TEMPORAL_ADDRESS;

if (process.argv[2] === 'longhaul') {
  await runWorker(process.env, { connection: { address }, namespace: 'default' });
} else {
  const api = `${process.env.OPEN_SANDBOX_API_URL}/sandboxes`;
  const connection = await NativeConnection.connect({ address });
  const worker = await Worker.create({
    connection,
    taskQueue: process.env.LONGHAUL_TASK_QUEUE,
    workflowsPath: fileURLToPath(new URL('plain-workflows.mjs', import.meta.url)),
    activities: {
      create: async () => {
        const response = await fetch(api, { method: 'POST', body: JSON.stringify({ image: 'stub' }) });
        return (await response.json()).id;
      },
      look: async (id) => (await (await fetch(`${api}/${id}/proxy/8000/state.json`)).json()).status,
      remove: async (id) => void (await fetch(`${api}/${id}`, { method: 'DELETE' })),
    },
    // As the product's worker has them.
    maxConcurrentActivityTaskExecutions: 5200,
    workflowTaskPollerBehavior: { type: 'autoscaling' },
    activityTaskPollerBehavior: { type: 'autoscaling' },
  });
  process.stdin.on('end', () => process.exit()).resume();
  await worker.run();
  process.stdin.destroy();
  await connection.close();
}
