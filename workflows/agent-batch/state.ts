/** All that a batch remembers. Plain data but for the set, which `carry` and `restore` turn into text and back. */

import type { AgentBatchInput, BatchPolicy, FailureCause, OpenBreaker } from '../../contract/batch.js';
import { formatPositions, parsePositions } from '../../contract/batch-positions.js';
import type { ErrorCode } from '../../contract/errors.js';
import type { JobHours } from '../../contract/status.js';
import { newPace, type Pace } from './pace.js';

export interface Breaker extends Omit<OpenBreaker, 'nextTrialAt'> {
  nextTrialAt: string;
  /** The single job that is tried now. */
  trial: number | null;
  /** Trials in vain. */
  trials: number;
}

/** What the jobs in flight were last told, all of them; `mixed`: some of them. */
export type Told = 'run' | 'hold' | 'cancel' | 'mixed';

export interface BatchState {
  readonly startedAt: string;
  policy: BatchPolicy;
  /** Position of the first item that was not started. */
  next: number;
  /** Started and not ended. A set and not a number: an end that is told twice must not free two places. */
  readonly inFlight: Set<number>;
  completed: number;
  failed: number;
  cancelled: number;
  causes: FailureCause[];
  hours: JobHours;
  sandboxes: number;
  /** Number of the last file of outcomes. */
  file: number;
  /** When the last end that is known was. */
  endsSince: string;
  hold: { readonly by: string; readonly reason: string; readonly since: string } | null;
  /** Who ended the last hold. */
  resumedBy: string;
  told: Told;
  cancelRequested: boolean;
  /** A job ran or was completed: sandboxes can be had at all. */
  hasProof: boolean;
  /** The last outcomes that failed at the start and for the same cause. */
  streak: { readonly code: ErrorCode; readonly count: number } | null;
  breaker: Breaker | null;
  pace: Pace;
}

export function newBatchState({ policy }: AgentBatchInput, now: string): BatchState {
  return {
    startedAt: now,
    policy,
    next: 0,
    inFlight: new Set(),
    completed: 0,
    failed: 0,
    cancelled: 0,
    causes: [],
    hours: { running: 0, paused: 0, provisioning: 0, wasted: 0 },
    sandboxes: 0,
    file: 0,
    endsSince: now,
    hold: null,
    resumedBy: 'longhaul',
    told: 'run',
    cancelRequested: false,
    hasProof: false,
    streak: null,
    breaker: null,
    pace: newPace(now),
  };
}

type Carried = Omit<BatchState, 'inFlight'> & { readonly inFlight: string };

export function carry(state: BatchState): Carried {
  return { ...state, inFlight: formatPositions(state.inFlight) };
}

export function restore(carried: unknown): BatchState {
  const { inFlight, ...rest } = carried as Carried;
  return { ...rest, inFlight: new Set(parsePositions(inFlight)) };
}
