/**
 * The fan-out that Temporal's own documentation leads to: one parent with a sliding window of children, each of
 * which creates, polls by timer and activity, and deletes. The parent continues as new before its history is full.
 */

import { continueAsNew, executeChild, proxyActivities, sleep, workflowInfo } from '@temporalio/workflow';

const { create, look, remove } = proxyActivities({
  startToCloseTimeout: '1 minute',
  retry: { maximumInterval: '10 seconds' },
});

const ITEMS_PER_RUN = 1000;

export async function plainFanOut({ from, items, concurrency, everyMs }) {
  const until = Math.min(items, from + ITEMS_PER_RUN);
  const positions = Array.from({ length: until - from }, (_, index) => from + index).values();
  const lane = async () => {
    for (const position of positions) {
      await executeChild(plainJob, {
        workflowId: `${workflowInfo().workflowId}/i${position}`,
        args: [{ everyMs }],
      });
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, until - from) }, lane));
  if (until < items) await continueAsNew({ from: until, items, concurrency, everyMs });
}

export async function plainJob({ everyMs }) {
  const id = await create();
  try {
    do await sleep(everyMs);
    while ((await look(id)) !== 'done');
  } finally {
    await remove(id);
  }
}
