/** The calendar of dates and wall clocks, in which no zone plays a part. Dates are counted as days since 1970-01-01. */

import { WEEKDAYS, type Weekday } from '../contract/windows.js';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

const THURSDAY = 3;

/** @returns `undefined` for what is no date of the calendar, such as 2026-02-30. */
export function dayOfDate(date: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\d$/.test(date)) return undefined;
  const ms = Date.parse(`${date}T00:00:00Z`);
  // Some engines carry 30 February over into March.
  return Number.isNaN(ms) || !new Date(ms).toISOString().startsWith(date) ? undefined : ms / DAY_MS;
}

export function dateOfDay(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

/** 1970-01-01 was a Thursday. */
export function weekdayOfDay(day: number): Weekday {
  return WEEKDAYS[(((day + THURSDAY) % 7) + 7) % 7] as Weekday;
}

/** What a wall clock shows at `YYYY-MM-DDTHH:MM`, in ms since 1970-01-01T00:00 on that same clock. */
export function wallMsOf(local: string): number {
  return Date.parse(`${local}:00Z`);
}

/** `YYYY-MM-DDTHH:MM` of what a wall clock shows. */
export function localOfWallMs(wallMs: number): string {
  return new Date(wallMs).toISOString().slice(0, 16);
}
