/** Days as people write them. */

import { type DateRange, WEEKDAYS, type Weekday } from '../contract/windows.js';
import { dateOfDay } from './dates.js';
import { parseDate } from './parse-times.js';
import { editDistance, failed, type Parsed } from './parsed.js';

export interface Days {
  readonly weekdays: readonly Weekday[];
  readonly dates: readonly DateRange[];
}

export const DAILY: Days = { weekdays: WEEKDAYS, dates: [] };

const GROUPS: Readonly<Record<string, readonly Weekday[]>> = {
  daily: WEEKDAYS,
  weekdays: ['mon', 'tue', 'wed', 'thu', 'fri'],
  weekends: ['sat', 'sun'],
};

const FULL_NAMES = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

const EXAMPLES = 'daily, weekdays, weekends, fri, fri-mon, "2026-12-24" or "2026-12-24..2027-01-02"';

/** One entry of `days`, or all of it. */
export function parseDays(value: unknown): Parsed<Days> {
  if (value instanceof Date) return failed('was read as a date by YAML; write it in quotes');
  if (typeof value !== 'string') return failed(`expected days, such as ${EXAMPLES}`);
  const text = value.trim();
  if (/^\d/.test(text)) return parseDates(text);
  const weekdays = parseWeekdays(text);
  return weekdays.ok ? { ok: true, value: { weekdays: weekdays.value, dates: [] } } : weekdays;
}

/** All of them together, in the order of the week and as they were written. */
export function joinDays(parts: readonly Days[]): Days {
  const named = new Set(parts.flatMap(({ weekdays }) => weekdays));
  return {
    weekdays: WEEKDAYS.filter((weekday) => named.has(weekday)),
    dates: parts.flatMap(({ dates }) => dates),
  };
}

function parseDates(text: string): Parsed<Days> {
  const [firstText, lastText = firstText, ...rest] = text.split('..').map((part) => part.trim());
  if (rest.length > 0) return failed(`"${text}" is not a range; write e.g. "2026-12-24..2027-01-02"`);
  const first = parseDate(firstText as string);
  if (!first.ok) return first;
  const last = parseDate(lastText as string);
  if (!last.ok) return last;
  if (last.value < first.value) return failed(`"${text}" ends before it begins`);
  const range = { first: dateOfDay(first.value), last: dateOfDay(last.value) };
  return { ok: true, value: { weekdays: [], dates: [range] } };
}

function parseWeekdays(text: string): Parsed<readonly Weekday[]> {
  const group = GROUPS[text.toLowerCase()];
  if (group !== undefined) return { ok: true, value: group };
  if (/[,;]| and /.test(text)) return failed(`"${text}" is not a day; write a list, such as [mon, wed-fri]`);
  const [first, last, ...rest] = text.split('-').map((part) => part.trim());
  if (last === undefined) return mapParsed(parseWeekday(first as string), (weekday) => [weekday]);
  const begin = parseWeekday(first as string);
  if (!begin.ok) return begin;
  const end = parseWeekday(last);
  if (!end.ok) return end;
  if (rest.length > 0) return failed(`"${text}" is not a range of days; write e.g. fri-mon`);
  if (begin.value === end.value) {
    return failed(`"${text}" begins and ends with the same day; write ${begin.value}, or daily`);
  }
  return { ok: true, value: weekdaysBetween(begin.value, end.value) };
}

function parseWeekday(text: string): Parsed<Weekday> {
  const name = text.toLowerCase();
  const index = name.length === 3 ? WEEKDAYS.indexOf(name as Weekday) : FULL_NAMES.indexOf(name);
  const weekday = WEEKDAYS[index];
  if (weekday !== undefined) return { ok: true, value: weekday };
  const meant = dayMeant(name);
  const hint = meant === undefined ? `write ${EXAMPLES}` : `did you mean ${meant}?`;
  return failed(`"${text}" is not a day; ${hint}`);
}

function dayMeant(name: string): string | undefined {
  if (/^(every|all)/.test(name)) return 'daily';
  return (
    Object.keys(GROUPS).find((group) => editDistance(name, group) <= 2) ??
    WEEKDAYS.find((each) => name.startsWith(each) || (name.length >= 2 && each.startsWith(name)))
  );
}

/** Both included; it may go over the end of the week. In the order of the week, as everywhere. */
function weekdaysBetween(first: Weekday, last: Weekday): Weekday[] {
  const begin = WEEKDAYS.indexOf(first);
  const distance = (index: number) => (index - begin + WEEKDAYS.length) % WEEKDAYS.length;
  return WEEKDAYS.filter((_, index) => distance(index) <= distance(WEEKDAYS.indexOf(last)));
}

function mapParsed<T, U>(parsed: Parsed<T>, map: (value: T) => U): Parsed<U> {
  return parsed.ok ? { ok: true, value: map(parsed.value) } : parsed;
}
