/** A window as somebody wrote it becomes a rule that is trusted; every problem is named, with its field. */

import type { WindowRule } from '../contract/windows.js';
import { wallMsOf } from './dates.js';
import { DAILY, type Days, joinDays, parseDays } from './parse-days.js';
import { type Edge, looksLikeDate, notAText, parseLocalTime, parseTimeOfDay } from './parse-times.js';
import type { Parsed } from './parsed.js';
import { fieldMeant, WINDOW_FIELDS, type WindowField } from './window-fields.js';
import { zoneOf } from './zone.js';
import { parseZoneName } from './zone-names.js';

export interface RuleProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

export type ParsedRule =
  | { readonly ok: true; readonly rule: WindowRule }
  | { readonly ok: false; readonly problems: readonly RuleProblem[] };

const EXAMPLE = '{ days: weekdays, from: "22:00", to: "06:00", timezone: Europe/Berlin }';
const MAX_REASON_CHARACTERS = 200;
const MAX_DAYS = 400;
const MINUTES_PER_DAY = 1440;

/** Collects problems while a rule is read. */
class Reading {
  readonly problems: RuleProblem[] = [];
  readonly #source: Readonly<Record<string, unknown>>;
  /** Fields that are there under a wrong name: that is said once, and not also that they are missing. */
  readonly #misnamed = new Set<WindowField>();

  constructor(source: Readonly<Record<string, unknown>>) {
    this.#source = source;
    for (const key of Object.keys(source)) {
      if ((WINDOW_FIELDS as readonly string[]).includes(key)) continue;
      const meant = fieldMeant(key);
      if (meant !== undefined) this.#misnamed.add(meant);
      const hint = meant === undefined ? `it has ${WINDOW_FIELDS.join(', ')}` : `did you mean "${meant}"?`;
      this.refuse([key], `is not a field of a window; ${hint}`);
    }
  }

  get(field: WindowField): unknown {
    return this.#source[field];
  }

  has(field: WindowField): boolean {
    return this.#source[field] !== undefined || this.#misnamed.has(field);
  }

  refuse(path: RuleProblem['path'], message: string): undefined {
    this.problems.push({ path, message });
    return undefined;
  }

  take<T>(path: RuleProblem['path'], parsed: Parsed<T>): T | undefined {
    return parsed.ok ? parsed.value : this.refuse(path, parsed.message);
  }
}

/** Checks one element of `pauseWindows` or `runWindows`. */
export function parseWindowRule(source: unknown): ParsedRule {
  if (typeof source !== 'object' || source === null || Array.isArray(source)) {
    return { ok: false, problems: [{ path: [], message: `expected a window, such as ${EXAMPLE}` }] };
  }
  const reading = new Reading(source as Record<string, unknown>);
  const timezone = readTimezone(reading);
  const reason = readReason(reading);
  const isStretch = (['from', 'to'] as const).some((edge) => {
    const value = reading.get(edge);
    return typeof value === 'string' && looksLikeDate(value);
  });
  const times = isStretch ? readStretch(reading, timezone) : readRecurring(reading);
  const { problems } = reading;
  if (problems.length > 0 || times === undefined || timezone === undefined) return { ok: false, problems };
  return { ok: true, rule: { ...times, timezone, reason } };
}

function readTimezone(reading: Reading): string | undefined {
  const value = reading.get('timezone');
  if (typeof value === 'string') return reading.take(['timezone'], parseZoneName(value));
  if (value !== undefined) {
    return reading.refuse(['timezone'], 'expected an IANA name in quotes, such as "Europe/Berlin"');
  }
  if (reading.has('timezone')) return undefined;
  return reading.refuse(['timezone'], 'is missing; write an IANA name such as Europe/Berlin');
}

function readReason(reading: Reading): string | null {
  const value = reading.get('reason');
  if (value === undefined) return null;
  if (typeof value !== 'string' || value.trim() === '' || value.length > MAX_REASON_CHARACTERS) {
    reading.refuse(['reason'], `expected a text of 1 to ${MAX_REASON_CHARACTERS} characters`);
    return null;
  }
  return value.trim();
}

function readStretch(reading: Reading, timezone: string | undefined) {
  if (reading.get('days') !== undefined) {
    reading.refuse(
      ['days'],
      'cannot be there when "from" and "to" are dates; write the dates as "days", or leave it out',
    );
  }
  const from = readEdge(reading, 'from', parseLocalTime);
  const to = readEdge(reading, 'to', parseLocalTime);
  if (from === undefined || to === undefined) return undefined;
  if (isEmptyStretch(from, to, timezone)) return reading.refuse(['to'], 'must be after "from"');
  return { kind: 'stretch', from, to } as const;
}

/** Clocks may skip all of it. */
function isEmptyStretch(from: string, to: string, timezone: string | undefined): boolean {
  if (from >= to) return true;
  if (timezone === undefined) return false;
  const zone = zoneOf(timezone);
  return zone.firstInstantOf(wallMsOf(from)) >= zone.lastInstantOf(wallMsOf(to));
}

function readRecurring(reading: Reading) {
  const days = readDays(reading);
  const isWholeDays = days !== undefined && days.weekdays.length === 0;
  if (isWholeDays && !reading.has('from') && !reading.has('to')) {
    return { kind: 'recurring', ...days, fromMinute: 0, toMinute: MINUTES_PER_DAY } as const;
  }
  const fromMinute = readEdge(reading, 'from', parseTimeOfDay);
  const toMinute = readEdge(reading, 'to', parseTimeOfDay);
  if (days === undefined || fromMinute === undefined || toMinute === undefined) return undefined;
  if (fromMinute === toMinute) {
    return reading.refuse(
      ['to'],
      'is the same as "from"; for whole days write from: "00:00" and to: "24:00"',
    );
  }
  const crossesMidnight = toMinute < fromMinute;
  return {
    kind: 'recurring',
    ...days,
    fromMinute,
    toMinute: crossesMidnight ? toMinute + MINUTES_PER_DAY : toMinute,
  } as const;
}

function readDays(reading: Reading): Days | undefined {
  const value = reading.get('days');
  if (value === undefined) return DAILY;
  if (!Array.isArray(value)) return reading.take(['days'], parseDays(value));
  if (value.length === 0) return reading.refuse(['days'], 'names no day; leave it out for every day');
  if (value.length > MAX_DAYS) {
    return reading.refuse(['days'], `has more than ${MAX_DAYS} entries; write ranges of dates`);
  }
  const parts = value.map((each, index) => reading.take(['days', index], parseDays(each)));
  const right = parts.filter((part) => part !== undefined);
  return right.length === parts.length ? joinDays(right) : undefined;
}

function readEdge<T>(
  reading: Reading,
  edge: Edge,
  parse: (text: string, edge: Edge) => Parsed<T>,
): T | undefined {
  const value = reading.get(edge);
  if (typeof value === 'string') return reading.take([edge], parse(value, edge));
  if (value !== undefined) return reading.refuse([edge], notAText(value));
  if (reading.has(edge)) return undefined;
  return reading.refuse([edge], 'is missing; only days that are all dates can do without "from" and "to"');
}
