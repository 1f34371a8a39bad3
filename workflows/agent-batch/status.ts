/** A batch as it is shown. Pure. */

import type { AgentBatchInput, BatchPhase, BatchStatus, FinalBatchPhase } from '../../contract/batch.js';
import { endsPerSecond } from './pace.js';
import { isStopped } from './rules.js';
import type { BatchState } from './state.js';

/** @param hasEnded its results are complete as well, or are being completed. */
export function toStatus(
  input: AgentBatchInput,
  state: BatchState,
  now: string,
  hasEnded = false,
): BatchStatus {
  const { round, completedBefore } = input;
  const phase = hasEnded ? finalPhase(input, state) : phaseOf(state, round.total);
  const rate = endsPerSecond(state.pace, now);
  const left = round.total - state.completed - state.failed - state.cancelled;
  return {
    id: round.batchId,
    phase,
    waitingFor: waitingFor(state, phase),
    round: round.number,
    items: {
      total: completedBefore + round.total,
      completed: completedBefore + state.completed,
      failed: state.failed,
      cancelled: state.cancelled,
      inFlight: state.inFlight.size,
      pending: round.total - state.next,
    },
    policy: state.policy,
    priority: input.priority,
    hold: state.hold,
    breaker: state.breaker,
    causes: [...state.causes].sort((a, b) => b.count - a.count),
    hours: state.hours,
    sandboxes: state.sandboxes,
    endsPerSecond: rate,
    remainingMs: phase === 'running' && rate !== null && rate > 0 ? (left / rate) * 1000 : null,
    startedAt: state.startedAt,
    endedAt: hasEnded ? now : null,
  };
}

function phaseOf(state: BatchState, total: number): BatchPhase {
  if (state.cancelRequested) return 'cancelling';
  if (state.hold !== null) return state.told === 'hold' ? 'paused' : 'pausing';
  if (state.told !== 'run') return 'resuming';
  if (isStopped(state, total)) return 'stopping';
  return state.breaker === null ? 'running' : 'blocked';
}

function finalPhase({ round, completedBefore }: AgentBatchInput, state: BatchState): FinalBatchPhase {
  if (state.cancelRequested) return 'cancelled';
  if (state.next < round.total) return 'stopped';
  if (state.failed + state.cancelled === 0) return 'completed';
  return completedBefore + state.completed === 0 ? 'failed' : 'partially-failed';
}

function waitingFor(state: BatchState, phase: BatchPhase): string | null {
  const { hold, breaker, inFlight, failed } = state;
  switch (phase) {
    case 'pausing':
    case 'paused':
      return `a resume; paused by ${hold?.by}: ${hold?.reason}`;
    case 'blocked':
      return breaker?.trial != null
        ? `the trial job, since ${breaker.failures} jobs failed at the start with ${breaker.code}`
        : `the next trial at ${breaker?.nextTrialAt}, since ${breaker?.failures} jobs failed at the start with ${breaker?.code}`;
    case 'stopping':
      return `${inFlight.size} jobs in flight; after ${failed} failures no more are started`;
    case 'cancelling':
      return `${inFlight.size} jobs to end and their sandboxes to be deleted`;
    default:
      return null;
  }
}
