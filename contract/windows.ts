/**
 * Pause and run windows: as people write them, and as they are trusted after they have been checked.
 * A rule is plain JSON and leaves nothing to be decided: the calendar only looks up where its edges lie.
 */

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/** What people write in `pauseWindows` and `runWindows`. */
export interface WindowSource {
  /** `daily` (default), `weekdays`, `weekends`, `fri`, `fri-mon`, `2026-12-24`, `2026-12-24..2027-01-02`, or a list of these. */
  days?: string | string[] | undefined;
  /** `22:00`, or where the window is one continuous stretch `2026-12-24T18:00` or `2026-12-24`. */
  from?: string | undefined;
  /** As `from`; `24:00` is the end of the day, and a date alone is meant to its end. */
  to?: string | undefined;
  /** IANA name, such as `Europe/Berlin`. */
  timezone: string;
  /** Shown to whoever asks why a job is paused. */
  reason?: string | undefined;
}

/** Both ends belong to it. Local dates, `YYYY-MM-DD`. */
export interface DateRange {
  readonly first: string;
  readonly last: string;
}

/** Opens anew on each of its days; a day that is named twice counts once. */
export interface RecurringWindow {
  readonly kind: 'recurring';
  readonly weekdays: readonly Weekday[];
  readonly dates: readonly DateRange[];
  /** On the wall clock, since the 00:00 with which the day begins: 0 to 1439. */
  readonly fromMinute: number;
  /** Since the same 00:00, always after `fromMinute`: 1440 is 24:00, and more is on the next day. */
  readonly toMinute: number;
  /** IANA name in its proper spelling. */
  readonly timezone: string;
  readonly reason: string | null;
}

/** Opens once. */
export interface StretchWindow {
  readonly kind: 'stretch';
  /** Local, `YYYY-MM-DDTHH:MM`. */
  readonly from: string;
  /** Local, `YYYY-MM-DDTHH:MM`, exclusive: the end of a day is 00:00 of the next one. */
  readonly to: string;
  /** IANA name in its proper spelling. */
  readonly timezone: string;
  readonly reason: string | null;
}

export type WindowRule = RecurringWindow | StretchWindow;

export interface WindowRules {
  readonly pauseWindows: readonly WindowRule[];
  /** With any, the job is paused whenever none of them is open. */
  readonly runWindows: readonly WindowRule[];
}

/** A stretch of time in which windows hold a job. */
export interface PausePeriod {
  /** ISO 8601, UTC. */
  readonly start: string;
  /** ISO 8601, UTC; exclusive. */
  readonly end: string;
  readonly reason: string | null;
  /** Zone of the window that begins it. */
  readonly timezone: string;
}
