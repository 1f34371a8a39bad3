/** The fields of a window, and what they are called elsewhere. */

import { editDistance } from './parsed.js';

export const WINDOW_FIELDS = ['days', 'from', 'to', 'timezone', 'reason'] as const;
export type WindowField = (typeof WINDOW_FIELDS)[number];

/** In lower case, without separators. */
const OTHER_NAMES: Readonly<Record<WindowField, readonly string[]>> = {
  days: ['day', 'date', 'dates', 'weekdays', 'weekday', 'dayofweek', 'daysofweek', 'on'],
  from: ['start', 'starts', 'startat', 'starttime', 'begin', 'begins', 'since', 'after'],
  to: ['end', 'ends', 'endat', 'endtime', 'until', 'till', 'stop', 'before'],
  timezone: ['tz', 'zone', 'timezoneid', 'timezonename', 'zoneid', 'location'],
  reason: ['why', 'comment', 'note', 'description', 'message', 'name', 'title'],
};

/** Which field somebody meant with a name that no field has. */
export function fieldMeant(key: string): WindowField | undefined {
  const name = key.toLowerCase().replace(/[\s_-]/g, '');
  const isMeant = (known: string) => editDistance(name, known) <= slipsAllowed(known);
  return (
    WINDOW_FIELDS.find((field) => [field, ...OTHER_NAMES[field]].includes(name)) ??
    WINDOW_FIELDS.find((field) => [field, ...OTHER_NAMES[field]].some(isMeant))
  );
}

/** A short word has too many neighbours that mean something else. */
function slipsAllowed({ length }: string): number {
  if (length <= 3) return 0;
  return length <= 5 ? 1 : 2;
}
