/** The job runs exactly while it has no hold. These are the only ways to set and clear one. */

import type { Hold, HoldKind } from '../../contract/status.js';
import type { JobState } from './state.js';
import { record } from './timeline.js';

export function hasHold(holds: readonly Hold[], kind: HoldKind): boolean {
  return holds.some((hold) => hold.kind === kind);
}

/**
 * Sets the hold. One of its kind that is there stands as it is, so that repeated requests change nothing,
 * unless the new one ends at another time.
 */
export function putHold(state: JobState, hold: Hold, now: string): void {
  const known = state.holds.find(({ kind }) => kind === hold.kind);
  if (known !== undefined && known.until === hold.until) return;
  const since = known?.since ?? hold.since;
  state.holds = [...state.holds.filter((other) => other !== known), { ...hold, since }];
  record(state, 'hold-set', `${hold.kind} (${hold.by}): ${hold.reason}`, now);
}

export function clearHold(state: JobState, kind: HoldKind, cause: string, now: string): void {
  if (!hasHold(state.holds, kind)) return;
  state.holds = state.holds.filter((hold) => hold.kind !== kind);
  record(state, 'hold-cleared', `${kind}: ${cause}`, now);
}

/** Clears the holds whose time is over. */
export function expireHolds(state: JobState, now: string): void {
  for (const { kind, until } of state.holds) {
    if (kind !== 'window' && until !== null && until <= now) clearHold(state, kind, 'its time is over', now);
  }
}

/** Why the job is held, in words; of several holds all are named. */
export function causeOf(holds: readonly Hold[]): string {
  return holds.map(({ kind, by, reason }) => `${kind} (${by}): ${reason}`).join('; ');
}

/** What a person's `resume` clears. It never touches what other parties hold. */
export const CLEARED_BY_RESUME: readonly HoldKind[] = ['manual', 'external', 'operator'];
