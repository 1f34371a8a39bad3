/** The activities of a job with their time limits. Which of them waits for its end when cancelled is decided here. */

import {
  ActivityCancellationType,
  type ActivityOptions,
  proxyActivities,
  proxyLocalActivities,
} from '@temporalio/workflow';
import type { Activities, LocalActivities, WatchProfile } from '../../contract/activities.js';

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

/** The agent is asked once; whether to ask again is decided by what its checkpoint shows. */
export const { deliverInput } = proxyActivities<Activities>({
  startToCloseTimeout: '1 minute',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
});

/** They move files: as long as they make progress they may take their time. */
export const { takeSnapshot, restoreSnapshot, collectArtifacts } = proxyActivities<Activities>({
  startToCloseTimeout: '6 hours',
  heartbeatTimeout: '1 minute',
  cancellationType: ActivityCancellationType.TRY_CANCEL,
  retry: {
    initialInterval: '2 seconds',
    backoffCoefficient: 2,
    maximumInterval: '1 minute',
    maximumAttempts: 10,
    nonRetryableErrorTypes: PROGRAMMING_ERRORS,
  },
});

export const { nudgeAgent } = proxyActivities<Activities>({
  startToCloseTimeout: '30 seconds',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: { maximumAttempts: 2 },
});

/** A receiver that is away for longer misses what happened meanwhile; the event log has it. */
export const { deliverEvents } = proxyActivities<Activities>({
  startToCloseTimeout: '10 minutes',
  scheduleToCloseTimeout: '24 hours',
  heartbeatTimeout: '1 minute',
  cancellationType: ActivityCancellationType.TRY_CANCEL,
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '10 minutes' },
});

/** Computations and one short write: within a workflow task they cost one event and no round trip. */
export const { planWindows, checkSettings, checkAnswer, recordEvents } =
  proxyLocalActivities<LocalActivities>({
    startToCloseTimeout: '10 seconds',
    retry: { maximumAttempts: 3, initialInterval: '200 milliseconds' },
  });

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
