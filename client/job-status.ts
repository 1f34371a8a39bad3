/**
 * Puts a job's status together from what can be had: the workflow's own answer, what Temporal shows of it,
 * and what the watch saw last. Pure.
 */

import type { WatchCursor } from '../contract/activities.js';
import type { ErrorCode } from '../contract/errors.js';
import type { JobResult, JobStatus, Phase } from '../contract/status.js';
import type { JobDescription, PendingActivity } from './job-description.js';

/** How a job's workflow ended. */
export type Ending =
  | { readonly kind: 'completed'; readonly result: JobResult }
  | {
      readonly kind: 'failed';
      readonly code: ErrorCode;
      readonly message: string;
      readonly status: JobStatus | null;
    }
  | { readonly kind: 'cancelled' };

const FINAL_PHASES: readonly Phase[] = ['completed', 'failed', 'cancelled'];

export function isFinal(phase: Phase): boolean {
  return FINAL_PHASES.includes(phase);
}

/**
 * The answer of an open job, with what happened since: the workflow hears of a checkpoint only when
 * something must be decided, while the heartbeats of the watch carry each of them.
 */
export function withLiveState(answer: JobStatus, description: JobDescription): JobStatus {
  if (isFinal(answer.phase)) return answer;
  const current = description.pending.filter((activity) => !activity.leftBehind);
  const cursor = current.find((activity) => activity.type === 'watchSandbox')?.cursor ?? null;
  const staged = withPauseStage(answer, current);
  return withRetries(cursor === null ? staged : withCursor(staged, cursor), current);
}

/** The drain and the pause are one activity, which tells how far it is. */
function withPauseStage(status: JobStatus, current: readonly PendingActivity[]): JobStatus {
  const isPausing = current.some(({ pauseStage }) => pauseStage === 'pausing');
  return status.phase === 'draining' && isPausing ? { ...status, phase: 'pausing' } : status;
}

function withCursor(status: JobStatus, cursor: WatchCursor): JobStatus {
  const isNewer = (cursor.checkpoint?.readAt ?? '') >= (status.checkpoint?.readAt ?? '');
  const isNewerVerdict = cursor.verdictSince >= (status.verdict?.since ?? '');
  return {
    ...status,
    checkpoint: isNewer ? cursor.checkpoint : status.checkpoint,
    verdict: isNewerVerdict
      ? { is: cursor.verdict, since: cursor.verdictSince, because: cursor.because }
      : status.verdict,
  };
}

/** Activities for which a job does not wait, or whose failures are how they wait. */
const BESIDE_THE_STEP: readonly PendingActivity['type'][] = [
  'watchSandbox',
  'probe',
  'deliverEvents',
  'takeSnapshot',
];

/** A step that is tried again and again is what the job waits for, with the reason that Temporal keeps. */
function withRetries(status: JobStatus, current: readonly PendingActivity[]): JobStatus {
  const tried = current.find(({ type }) => !BESIDE_THE_STEP.includes(type));
  if (tried === undefined || tried.attempt < 2 || tried.lastFailure === null) return status;
  const { what, since } = status.waitingFor ?? { what: 'the sandbox API', since: status.phaseSince };
  return {
    ...status,
    waitingFor: { what: `${what} (try ${tried.attempt}; the last one: ${tried.lastFailure})`, since },
  };
}

/** The phase of a job as far as Temporal shows it without a worker. */
export function phaseOf({ execution, pending, restingPhase }: JobDescription): Phase {
  switch (execution) {
    case 'COMPLETED':
      return 'completed';
    case 'CANCELLED':
      return 'cancelled';
    case 'FAILED':
    case 'TERMINATED':
    case 'TIMED_OUT':
      return 'failed';
    default:
      break;
  }
  const current = pending.filter((activity) => !activity.leftBehind);
  const isPending = (type: PendingActivity['type']) => current.some((activity) => activity.type === type);
  if (isPending('deleteSandboxes') || isPending('collectArtifacts')) return 'collecting';
  if (isPending('pauseSandbox')) return 'pausing';
  if (isPending('resumeSandbox')) return 'resuming';
  if (isPending('createSandbox')) return 'provisioning';
  const rest = restingPhase === 'running' || restingPhase === 'paused' ? restingPhase : 'scheduled';
  if (!isPending('watchSandbox') || rest === 'running') return rest;
  // The agent is awaited: the attribute changes with its first good answer.
  return rest === 'paused' ? 'resuming' : 'provisioning';
}

/** The status of a job that has ended. `answer` is what its workflow said when it was asked, if it could be. */
export function endedStatus(
  description: JobDescription,
  ending: Ending,
  answer: JobStatus | null,
): JobStatus {
  if (ending.kind === 'completed') return ending.result.status;
  if (ending.kind === 'failed' && ending.status !== null) return ending.status;
  const known = answer ?? bareStatus(description);
  if (isFinal(known.phase) && known.phase === phaseOf(description)) return known;
  const endedAt = description.closedAt ?? known.phaseSince;
  return {
    ...known,
    phase: ending.kind,
    phaseSince: endedAt,
    endedAt,
    waitingFor: null,
    holds: [],
    failure:
      ending.kind === 'failed' ? { code: ending.code, message: ending.message, logs: null } : known.failure,
  };
}

/** All that is known of a job which nobody but Temporal can tell anything about. */
export function bareStatus(description: JobDescription): JobStatus {
  return {
    id: description.id,
    phase: phaseOf(description),
    phaseSince: description.closedAt ?? description.startedAt,
    waitingFor: null,
    holds: [],
    checkpoint: null,
    verdict: null,
    sandbox: null,
    hours: { running: 0, paused: 0, provisioning: 0, wasted: 0 },
    cost: null,
    limits: [],
    question: null,
    nextEdge: null,
    overrideUntil: null,
    recoveryPoint: null,
    kept: null,
    sandboxes: 0,
    restarts: 0,
    receipts: [],
    warnings: [],
    artifacts: [],
    result: null,
    failure: null,
    startedAt: description.startedAt,
    endedAt: description.closedAt,
  };
}
