/** The job runs exactly while it has no hold. These are the only ways to set and clear one. */

import type { PauseRequest, ResumeRequest } from '../../contract/messages.js';
import type { Hold, HoldKind } from '../../contract/status.js';

export function hasHold(holds: readonly Hold[], kind: HoldKind): boolean {
  return holds.some((hold) => hold.kind === kind);
}

/** Adds the hold, unless there is one of its kind: the first reason stands, so repeated signals change nothing. */
export function setHold(holds: readonly Hold[], hold: Hold): Hold[] {
  return hasHold(holds, hold.kind) ? [...holds] : [...holds, hold];
}

export function clearHolds(holds: readonly Hold[], kinds: readonly HoldKind[]): Hold[] {
  return holds.filter((hold) => !kinds.includes(hold.kind));
}

/** What a person's `resume` clears. It never touches what other parties hold. */
export const CLEARED_BY_RESUME: readonly HoldKind[] = ['manual', 'external', 'operator'];

/**
 * Reads a `pause` or `resume` signal. Signals come from anywhere, also from `temporal workflow signal`
 * without input: whatever is missing is filled in, nothing is refused.
 */
export function readRequest(input: unknown): PauseRequest & ResumeRequest {
  const fields = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {};
  return {
    by: typeof fields.by === 'string' && fields.by !== '' ? fields.by.slice(0, 100) : 'unknown',
    reason:
      typeof fields.reason === 'string' && fields.reason !== ''
        ? fields.reason.slice(0, 300)
        : 'asked to pause',
  };
}
