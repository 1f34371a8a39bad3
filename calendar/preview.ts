/** The coming pauses as people want to see them: in local time, and with what the clocks do to them. */

import type { PausePeriod, WindowRules } from '../contract/windows.js';
import { DAY_MS, HOUR_MS, MINUTE_MS } from './dates.js';
import { planPauses } from './plan.js';
import { type ClockChange, type Zone, zoneOf } from './zone.js';

/** A preview looks further ahead than a plan, so that it also shows a single window some years away. */
const PREVIEW_DAYS = 3650;

/** More changes than a winter and a summer have are only counted. */
const MAX_CHANGES_TOLD = 2;

export interface PausePreview {
  /** ISO 8601, UTC. */
  readonly start: string;
  /** ISO 8601, UTC; exclusive. */
  readonly end: string;
  readonly hours: number;
  /** IANA name. */
  readonly timezone: string;
  /** ISO 8601 with the offset that holds there then. */
  readonly localStart: string;
  readonly localEnd: string;
  /** Where the clocks are changed in it or at its edges; where it has no beginning or no end. */
  readonly note: string | null;
}

/** @throws RangeError as `planPauses` does. */
export function previewPauses(rules: WindowRules, fromIso: string, count: number): PausePreview[] {
  const plan = planPauses(rules, fromIso, { maxPeriods: count, horizonDays: PREVIEW_DAYS });
  const farBackMs = Date.parse(fromIso) - 400 * DAY_MS;
  return plan.periods.map((period, index) => {
    const isLast = index === plan.periods.length - 1;
    const hasBeginning = Date.parse(period.start) > farBackMs;
    return preview(period, { hasBeginning, hasEnd: !(plan.endless && isLast) });
  });
}

function preview(
  { start, end, timezone }: PausePeriod,
  known: { readonly hasBeginning: boolean; readonly hasEnd: boolean },
): PausePreview {
  const zone = zoneOf(timezone);
  const [startMs, endMs] = [Date.parse(start), Date.parse(end)];
  return {
    start: withoutMs(start),
    end: withoutMs(end),
    hours: Math.round(((endMs - startMs) / HOUR_MS) * 1000) / 1000,
    timezone,
    localStart: localIso(startMs, zone),
    localEnd: localIso(endMs, zone),
    note: noteOn(startMs, endMs, zone, known),
  };
}

function noteOn(
  startMs: number,
  endMs: number,
  zone: Zone,
  { hasBeginning, hasEnd }: { readonly hasBeginning: boolean; readonly hasEnd: boolean },
): string | null {
  if (!hasEnd) return 'has no end that can be foreseen';
  if (!hasBeginning) return 'began more than 400 days ago, or always was';
  const changes = zone.clockChanges(startMs, endMs);
  if (changes.length > MAX_CHANGES_TOLD) return `clocks are changed ${changes.length} times in between`;
  return changes.length === 0 ? null : changes.map((change) => tell(change, startMs, endMs)).join('; ');
}

function tell({ atMs, byMs }: ClockChange, startMs: number, endMs: number): string {
  const amount = duration(Math.abs(byMs));
  const change = `clocks go ${byMs > 0 ? 'forward' : 'back'} ${amount}`;
  if (atMs === startMs) return `${change} as it begins`;
  // Whether it is shorter for that depends on which side of the gap was written.
  if (atMs === endMs && byMs > 0) return `${change} as it ends`;
  return `${change} ${atMs === endMs ? 'as it ends' : 'in between'}: ${amount} ${byMs > 0 ? 'shorter' : 'longer'}`;
}

/** `1 h`, `30 min`, `1 h 30 min`. */
function duration(ms: number): string {
  const hours = Math.floor(ms / HOUR_MS);
  const minutes = Math.round((ms % HOUR_MS) / MINUTE_MS);
  return [hours > 0 ? `${hours} h` : '', minutes > 0 ? `${minutes} min` : ''].filter(Boolean).join(' ');
}

/** Windows are kept to the minute. */
function withoutMs(iso: string): string {
  return iso.replace('.000Z', 'Z');
}

function localIso(instantMs: number, zone: Zone): string {
  const wall = new Date(zone.wallMsAt(instantMs)).toISOString().slice(0, 19);
  const offsetMinutes = Math.round(zone.offsetMsAt(instantMs) / MINUTE_MS);
  const sign = offsetMinutes < 0 ? '-' : '+';
  const hours = Math.floor(Math.abs(offsetMinutes) / 60);
  const minutes = Math.abs(offsetMinutes) % 60;
  return `${wall}${sign}${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`;
}
