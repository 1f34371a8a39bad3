/**
 * What the passing of time does to a job. It can be asked at any moment and any number of times: it acts on
 * what is right for `now`, not on edges, so a job whose workers were away does nothing late and nothing twice.
 */

import { expireHolds } from './holds.js';
import { applyLimits, limitAlarms } from './limits.js';
import type { JobState } from './state.js';
import { applyWaits, waitAlarms } from './waits.js';
import { applyWindows, windowAlarms } from './windows.js';

/** Brings the holds up to `now` (ISO 8601). */
export function advance(state: JobState, jobId: string, now: string): void {
  expireHolds(state, now);
  applyWindows(state, now);
  applyWaits(state, jobId, now);
  applyLimits(state, jobId, now);
}

/** The first instant after `now` at which time will change something; `null` where it never will. */
export function nextAlarm(state: JobState, now: string): string | null {
  const instants = [
    ...(state.retryAt === null ? [] : [state.retryAt]),
    ...state.holds.flatMap(({ until }) => (until === null ? [] : [until])),
    ...windowAlarms(state),
    ...waitAlarms(state),
    ...limitAlarms(state, now),
  ].filter((instant) => instant > now);
  return instants.sort()[0] ?? null;
}
