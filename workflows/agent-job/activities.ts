/** The activities of a job with their time limits. Which of them waits for its end when cancelled is decided here. */

import { ActivityCancellationType, type ActivityOptions, proxyActivities } from '@temporalio/workflow';
import type { Activities, WatchProfile } from '../../contract/activities.js';

/** Errors of a programmer, not of the world: a retry cannot cure them, so the job fails and says so. */
const PROGRAMMING_ERRORS = ['TypeError', 'RangeError', 'ReferenceError', 'SyntaxError'];

/**
 * What changes a sandbox is awaited even when it is cancelled, so that a delete never races a create.
 * Attempts are not limited: an API that is away for a day must not fail a job. Each activity itself
 * gives up on what the API answers definitely, and says so in its outcome.
 */
const TRANSITION: ActivityOptions = {
  startToCloseTimeout: '20 minutes',
  heartbeatTimeout: '30 seconds',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: {
    initialInterval: '1 second',
    backoffCoefficient: 2,
    maximumInterval: '30 seconds',
    nonRetryableErrorTypes: PROGRAMMING_ERRORS,
  },
};

export const { createSandbox, pauseSandbox, resumeSandbox, deleteSandboxes } =
  proxyActivities<Activities>(TRANSITION);

/** Asks for ever, ever more rarely; every "not yet" is a failed attempt, which leaves nothing in the history. */
export const { probe } = proxyActivities<Activities>({
  startToCloseTimeout: '1 minute',
  cancellationType: ActivityCancellationType.TRY_CANCEL,
  retry: { initialInterval: '5 seconds', backoffCoefficient: 1.5, maximumInterval: '1 minute' },
});

/** A watch is left behind at once when something else is to be done: a pause must not wait for a heartbeat. */
export function watchWith(profile: WatchProfile): Activities['watchSandbox'] {
  return proxyActivities<Activities>({
    startToCloseTimeout: profile.sliceMs + 10 * 60_000,
    heartbeatTimeout: profile.heartbeatTimeoutMs,
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: {
      initialInterval: '1 second',
      backoffCoefficient: 2,
      maximumInterval: '30 seconds',
      nonRetryableErrorTypes: PROGRAMMING_ERRORS,
    },
  }).watchSandbox;
}
