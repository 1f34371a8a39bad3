/** Holds a job in the windows of its calendar. The calendar itself is computed outside and handed in as a plan. */

import type { PlannedPause } from '../../contract/job-settings.js';
import type { JobStatus } from '../../contract/status.js';
import { clearHold, hasHold, putHold } from './holds.js';
import type { JobState } from './state.js';

/** A short window is not shortened much by the spread. */
const MAX_SPREAD_SHARE = 0.1;

/** A job's place, 0 to 1, among those that share its windows: the same for ever (FNV-1a of its ID). */
export function spreadOf(jobId: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < jobId.length; index += 1) {
    hash = Math.imul(hash ^ jobId.charCodeAt(index), 0x01000193) >>> 0;
  }
  // The low bits of neighbouring IDs are alike; a last mix spreads them.
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0;
  return ((hash ^ (hash >>> 13)) >>> 0) / 2 ** 32;
}

/** Sets and clears the window hold as it is right for `now`, whatever edges were missed. */
export function applyWindows(state: JobState, now: string): void {
  if (state.overrideUntil !== null && state.overrideUntil <= now) state.overrideUntil = null;
  const period = state.overrideUntil === null ? periodAt(state, now) : null;
  if (period === null) {
    if (hasHold(state.holds, 'window')) clearHold(state, 'window', 'the window ended', now);
    return;
  }
  putHold(
    state,
    {
      kind: 'window',
      by: 'calendar',
      reason: period.reason ?? 'a pause window',
      since: period.start,
      until: period.end,
    },
    now,
  );
}

/** Lets the job run until the end of the window that holds it now. */
export function overrideWindow(state: JobState, now: string): void {
  const period = periodAt(state, now);
  if (period === null) return;
  state.overrideUntil = period.end;
  applyWindows(state, now);
}

export function hasWindows({ settings }: JobState): boolean {
  return settings.pauseWindows.length + settings.runWindows.length > 0;
}

/** The plan must be made anew before anything can be decided. */
export function isPlanUsedUp(state: JobState, now: string): boolean {
  if (!hasWindows(state)) return false;
  if (state.plan === null) return true;
  const { periods, plannedUntil } = state.plan;
  const last = periods.at(-1);
  return last === undefined ? plannedUntil <= now : shifted(state, last).end <= now;
}

/** The instants at which the windows hold or release this job, or at which the plan ends. */
export function windowAlarms(state: JobState): string[] {
  if (!hasWindows(state) || state.plan === null) return [];
  const edges = state.plan.periods.flatMap((period) => {
    const { start, end } = shifted(state, period);
    return [start, end];
  });
  return edges.length === 0 ? [state.plan.plannedUntil] : edges;
}

/** What the windows do next. */
export function nextEdge(state: JobState, now: string): JobStatus['nextEdge'] {
  const hold = state.holds.find(({ kind }) => kind === 'window');
  if (hold !== undefined) return hold.until === null ? null : { at: hold.until, does: 'resume' };
  const after = state.overrideUntil ?? now;
  const next = periods(state).find(({ start }) => start >= after);
  return next === undefined ? null : { at: next.start, does: 'pause' };
}

function periodAt(state: JobState, now: string): PlannedPause | null {
  return periods(state).find(({ start, end }) => start <= now && now < end) ?? null;
}

function periods(state: JobState): readonly PlannedPause[] {
  return (hasWindows(state) ? (state.plan?.periods ?? []) : []).map((period) => shifted(state, period));
}

/** The period as this job keeps it: both edges a little later, so that the jobs of a window spread their calls. */
function shifted({ spread, settings }: JobState, period: PlannedPause): PlannedPause {
  const lengthMs = Date.parse(period.end) - Date.parse(period.start);
  const shiftMs = Math.floor(spread * Math.min(settings.windowSpreadMs, lengthMs * MAX_SPREAD_SHARE));
  const later = (instant: string) => new Date(Date.parse(instant) + shiftMs).toISOString();
  return { ...period, start: later(period.start), end: later(period.end) };
}
