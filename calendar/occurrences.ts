/** When a window opens and closes, as instants. */

import type { RecurringWindow, WindowRule } from '../contract/windows.js';
import { DAY_MS, dayOfDate, MINUTE_MS, wallMsOf, weekdayOfDay } from './dates.js';
import { type Zone, zoneOf } from './zone.js';

/** `endMs` is exclusive. */
export interface Span {
  readonly startMs: number;
  readonly endMs: number;
  /** Each different one once. */
  readonly reasons: readonly string[];
  /** Of the window that begins it. */
  readonly timezone: string;
}

/** A window may be open for two local days after the one on which it begins, and no offset is longer than a day. */
const MARGIN_DAYS = 3;

/**
 * The times at which a window is open, ordered by their start: all that touch the given stretch, and perhaps
 * some around it. What begins and ends only once is always among them, however far away it is.
 */
export function* occurrencesOf(rule: WindowRule, fromMs: number, untilMs: number): Generator<Span> {
  const { timezone, reason } = rule;
  const reasons = reason === null ? [] : [reason];
  const zone = zoneOf(timezone);
  if (rule.kind === 'stretch') {
    const startMs = zone.firstInstantOf(wallMsOf(rule.from));
    const endMs = zone.lastInstantOf(wallMsOf(rule.to));
    yield { startMs, endMs, reasons, timezone };
    return;
  }
  const first = Math.floor(fromMs / DAY_MS) - MARGIN_DAYS;
  const last = Math.floor(untilMs / DAY_MS) + MARGIN_DAYS;
  for (const day of daysOf(rule, first, last)) {
    const edges = edgesOn(day, rule, zone);
    // Written out, since a spread makes planning five times slower.
    if (edges !== undefined) yield { startMs: edges.startMs, endMs: edges.endMs, reasons, timezone };
  }
}

function* daysOf({ weekdays, dates }: RecurringWindow, first: number, last: number): Generator<number> {
  const onWeekdays = new Set(weekdays);
  const ranges = dates.map((range) => [dayOfDate(range.first) as number, dayOfDate(range.last) as number]);
  for (let day = first; day <= last; day += 1) {
    const isDated = ranges.some(([begin, end]) => (begin as number) <= day && day <= (end as number));
    if (isDated || onWeekdays.has(weekdayOfDay(day))) yield day;
  }
}

/** `undefined` where nothing is left of the window: the zone has no such day, or the clocks skip all of it. */
function edgesOn(day: number, { fromMinute, toMinute }: RecurringWindow, zone: Zone) {
  const fromWallMs = day * DAY_MS + fromMinute * MINUTE_MS;
  const startMs = zone.firstInstantOf(fromWallMs);
  const isMoved = zone.wallMsAt(startMs) !== fromWallMs;
  if (isMoved && !zone.hasDay(day)) return undefined;
  const endMs = zone.lastInstantOf(day * DAY_MS + toMinute * MINUTE_MS);
  return startMs < endMs ? { startMs, endMs } : undefined;
}
