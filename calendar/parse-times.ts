/** Times of day and local dates with times, as people write them. */

import { DAY_MS, dayOfDate, localOfWallMs, MINUTE_MS } from './dates.js';
import { failed, type Parsed } from './parsed.js';

export type Edge = 'from' | 'to';

const MINUTES_PER_DAY = 1440;

/** Zone data ends in 2499; before 1970 nobody pauses jobs. */
const FIRST_YEAR = 1970;
const LAST_YEAR = 2499;

/** What stands in `from` or `to` when it is no text. */
export function notAText(value: unknown): string {
  if (typeof value === 'number') {
    const isTime = Number.isInteger(value) && value >= 60 && value <= MINUTES_PER_DAY;
    const hint = isTime
      ? `, in which YAML 1.1 turns a time without quotes: write "${formatMinute(value)}"`
      : '; write a time in quotes, such as "22:00"';
    return `is the number ${value}${hint}`;
  }
  if (value instanceof Date) return 'was read as a date by YAML; write it in quotes';
  return 'expected a time in quotes, such as "22:00", or a local date such as "2026-12-24"';
}

/** @returns minutes since 00:00; 1440 for 24:00, which only a window's end may be. */
export function parseTimeOfDay(text: string, edge: Edge): Parsed<number> {
  const match = /^(\d{1,2}):(\d\d)$/.exec(text);
  if (match === null)
    return failed(`"${text}" is not a time of day; ${rangeHint(text) ?? 'write e.g. "22:00"'}`);
  const [hours, minutes] = [Number(match[1]), Number(match[2])];
  if (hours === 24 && minutes === 0) {
    return edge === 'to'
      ? { ok: true, value: MINUTES_PER_DAY }
      : failed('"24:00" cannot begin a window; write "00:00" and the next day');
  }
  if (hours > 23 || minutes > 59) {
    const last = edge === 'to' ? '"23:59", and "24:00" is the end of the day' : '"23:59"';
    return failed(`"${text}" is not a time of day; they go from "00:00" to ${last}`);
  }
  return { ok: true, value: hours * 60 + minutes };
}

/** A date as a day since 1970-01-01. */
export function parseDate(text: string): Parsed<number> {
  const day = dayOfDate(text);
  if (day === undefined) {
    return failed(
      /^\d{4}-\d\d-\d\d$/.test(text)
        ? `"${text}" is not in the calendar`
        : `"${text}" is not a date; write e.g. "2026-12-24"`,
    );
  }
  const year = Number(text.slice(0, 4));
  if (year < FIRST_YEAR || year > LAST_YEAR) {
    return failed(`"${text}" is out of range; it must be between ${FIRST_YEAR} and ${LAST_YEAR}`);
  }
  return { ok: true, value: day };
}

/** Whether it is meant as a date or a date with a time, right or wrong. */
export function looksLikeDate(text: string): boolean {
  return /^\d{3,}-/.test(text);
}

/** An edge of one continuous stretch. @returns `YYYY-MM-DDTHH:MM`; the end of a date that stands alone is 00:00 of the next. */
export function parseLocalTime(text: string, edge: Edge): Parsed<string> {
  if (/^\d{1,2}:\d\d$/.test(text)) {
    return failed(`"${text}" has no date, as the other end has; write e.g. "2026-12-24T18:00"`);
  }
  if (/:.*(Z|[+-]\d\d:?\d\d)$/.test(text)) {
    return failed(`"${text}" has an offset; leave it out, the time is that of "timezone"`);
  }
  if (/:\d\d:/.test(text)) return failed(`"${text}" has seconds; windows are kept to the minute`);
  const [dateText, timeText] = splitOnce(text, 'T');
  const date = parseDate(dateText);
  if (!date.ok) return date;
  const minute = timeText === undefined ? wholeDay(edge) : parseTimeOfDay(timeText, edge);
  if (!minute.ok) return minute;
  return { ok: true, value: localOfWallMs(date.value * DAY_MS + minute.value * MINUTE_MS) };
}

function wholeDay(edge: Edge): Parsed<number> {
  return { ok: true, value: edge === 'from' ? 0 : MINUTES_PER_DAY };
}

/** `22-6` and `22:00-06:00` are two fields. */
function rangeHint(text: string): string | undefined {
  const match = /^(\d{1,2}(?::\d\d)?)\s*(?:-|–|\.\.)\s*(\d{1,2}(?::\d\d)?)$/.exec(text);
  if (match === null) return undefined;
  const [from, to] = [match[1], match[2]].map((part) =>
    (part?.includes(':') ? part : `${part}:00`).padStart(5, '0'),
  );
  return `write from: "${from}" and to: "${to}"`;
}

function formatMinute(minute: number): string {
  const hours = Math.floor(minute / 60);
  return `${String(hours).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;
}

function splitOnce(text: string, separator: string): [string, string | undefined] {
  const index = text.indexOf(separator);
  return index < 0 ? [text, undefined] : [text.slice(0, index), text.slice(index + separator.length)];
}
