/**
 * What windows mean, found by looking at the wall clock minute by minute. It knows of offsets at instants only,
 * nothing of gaps, changes or plans, and so makes other mistakes than the calendar does.
 */

import moment from 'moment-timezone';

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1440;
/** No zone is farther from UTC in our time. */
const FARTHEST_MINUTES = 15 * 60;

/** Minutes of the wall clock, since 1970-01-01T00:00 on it. */
function wallAt(zone: moment.MomentZone, minute: number): number {
  return minute - zone.utcOffset(minute * MINUTE_MS);
}

/** The first and the last minute (since 1970, UTC) at which the wall clock shows a time; where it never does, the first one after it. */
function minutesOf(zone: moment.MomentZone, wall: number): { first: number; last: number } {
  let first: number | undefined;
  let last: number | undefined;
  let after: number | undefined;
  for (let minute = wall - FARTHEST_MINUTES; minute <= wall + FARTHEST_MINUTES; minute += 1) {
    const shown = wallAt(zone, minute);
    if (shown === wall) {
      first ??= minute;
      last = minute;
    }
    if (shown > wall) after ??= minute;
  }
  return { first: first ?? (after as number), last: last ?? (after as number) };
}

export interface DailyWindow {
  readonly timezone: string;
  /** 0 is Monday. */
  readonly weekdays: readonly number[];
  readonly fromMinute: number;
  /** On the next day where it is not after `fromMinute`. */
  readonly toMinute: number;
}

/** The window of one local day (counted from 1970-01-01), in ms; `null` where it does not open. */
export function openedOn(day: number, window: DailyWindow): { startMs: number; endMs: number } | null {
  const zone = moment.tz.zone(window.timezone) as moment.MomentZone;
  if (!window.weekdays.includes((day + 3) % 7)) return null;
  const { fromMinute, toMinute } = window;
  const length = toMinute > fromMinute ? toMinute - fromMinute : toMinute + DAY_MINUTES - fromMinute;
  const from = day * DAY_MINUTES + fromMinute;
  const { first } = minutesOf(zone, from);
  const { last } = minutesOf(zone, from + length);
  return first < last ? { startMs: first * MINUTE_MS, endMs: last * MINUTE_MS } : null;
}

export function isOpenAt(instantMs: number, window: DailyWindow): boolean {
  const today = Math.floor(instantMs / MINUTE_MS / DAY_MINUTES);
  return [-2, -1, 0, 1].some((offset) => {
    const opened = openedOn(today + offset, window);
    return opened !== null && opened.startMs <= instantMs && instantMs < opened.endMs;
  });
}
