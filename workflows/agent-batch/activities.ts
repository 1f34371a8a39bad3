/** The activities of a batch with their time limits. All are tried for ever: a batch must not fail and strand its jobs. */

import { ActivityCancellationType, proxyActivities, type RetryPolicy } from '@temporalio/workflow';
import type { BatchActivities } from '../../contract/batch.js';

const FOR_EVER: RetryPolicy = {
  initialInterval: '1 second',
  backoffCoefficient: 2,
  maximumInterval: '30 seconds',
};

export const { openRound } = proxyActivities<BatchActivities>({
  startToCloseTimeout: '1 minute',
  retry: FOR_EVER,
});

export const { startJobs, steerJobs } = proxyActivities<BatchActivities>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '15 seconds',
  retry: FOR_EVER,
});

/** Left behind at once when something else is to be looked for; what it writes then is there twice, and read once. */
export const { collectEnds } = proxyActivities<BatchActivities>({
  startToCloseTimeout: '20 minutes',
  heartbeatTimeout: '15 seconds',
  cancellationType: ActivityCancellationType.TRY_CANCEL,
  retry: FOR_EVER,
});

export const { finishRound } = proxyActivities<BatchActivities>({
  startToCloseTimeout: '6 hours',
  heartbeatTimeout: '1 minute',
  retry: FOR_EVER,
});
