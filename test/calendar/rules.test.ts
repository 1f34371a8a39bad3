/** How windows are written, and what is said of those that are wrong. */

import { describe, expect, it } from 'vitest';
import { checkWindows, windowRules } from '../../contract/windows.schema.js';
import { pausing, problemsOf, rules, running } from './support.js';

const night = { from: '22:00', to: '06:00', timezone: 'Europe/Berlin' };
const WEEK = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];

describe('a window', () => {
  it('becomes a rule that leaves nothing to be decided', () => {
    expect(
      rules({ days: 'fri-mon', from: '22:00', to: '6:00', timezone: 'europe/berlin', reason: ' night ' }),
    ).toEqual([
      {
        kind: 'recurring',
        weekdays: ['mon', 'fri', 'sat', 'sun'],
        dates: [],
        fromMinute: 1320,
        toMinute: 1800,
        timezone: 'Europe/Berlin',
        reason: 'night',
      },
    ]);
    expect(rules({ from: '2026-12-24T18:00', to: '2027-01-02T24:00', timezone: 'UTC' })).toEqual([
      {
        kind: 'stretch',
        from: '2026-12-24T18:00',
        to: '2027-01-03T00:00',
        timezone: 'UTC',
        reason: null,
      },
    ]);
    expect(rules({ from: '2026-12-24', to: '2026-12-24', timezone: 'UTC' })).toMatchObject([
      { from: '2026-12-24T00:00', to: '2026-12-25T00:00' },
    ]);
  });

  it.each([
    [undefined, WEEK, 0],
    ['daily', WEEK, 0],
    ['weekdays', ['mon', 'tue', 'wed', 'thu', 'fri'], 0],
    ['Weekends', ['sat', 'sun'], 0],
    ['FRI', ['fri'], 0],
    ['Friday', ['fri'], 0],
    ['sat-mon', ['mon', 'sat', 'sun'], 0],
    ['Monday - Wed', ['mon', 'tue', 'wed'], 0],
    [['mon', 'wed-thu', 'weekends'], ['mon', 'wed', 'thu', 'sat', 'sun'], 0],
    ['2026-12-24', [], 1],
    ['2026-12-24..2027-01-02', [], 1],
    [['sun', '2026-12-24', '2028-02-29'], ['sun'], 2],
  ] as [string | string[] | undefined, string[], number][])('has the days %j', (days, weekdays, dates) => {
    const [rule] = rules({ ...night, days });
    expect(rule).toMatchObject({ weekdays });
    expect(rule?.kind === 'recurring' && rule.dates).toHaveLength(dates);
  });

  it.each([
    ['22:00', '00:00', 1320, 1440],
    ['00:00', '24:00', 0, 1440],
    ['9:05', '17:30', 545, 1050],
    ['00:01', '00:00', 1, 1440],
  ])('is open from %s to %s', (from, to, fromMinute, toMinute) => {
    expect(rules({ from, to, timezone: 'UTC' })).toMatchObject([{ fromMinute, toMinute }]);
  });

  it.each(['UTC', 'Etc/GMT+2', 'Europe/Kyiv', 'Europe/Kiev', 'EST5EDT', 'America/Argentina/Buenos_Aires'])(
    'may be in the zone %s',
    (timezone) => {
      expect(rules({ ...night, timezone: timezone.toLowerCase() })).toMatchObject([{ timezone }]);
    },
  );
});

describe('a window that is wrong', () => {
  it.each<[unknown, string[]]>([
    // Names of fields.
    [
      { start: '22:00', end: '6:00', timeZone: 'Europe/Berlin' },
      [
        'start: is not a field of a window; did you mean "from"?',
        'end: is not a field of a window; did you mean "to"?',
        'timeZone: is not a field of a window; did you mean "timezone"?',
      ],
    ],
    [
      { ...night, tz: 'UTC', cron: '0 22 * * *' },
      [
        'tz: is not a field of a window; did you mean "timezone"?',
        'cron: is not a field of a window; it has days, from, to, timezone, reason',
      ],
    ],
    [
      { form: '22:00', untill: '06:00', time_zone: 'UTC', day: 'fri' },
      [
        'form: is not a field of a window; did you mean "from"?',
        'untill: is not a field of a window; did you mean "to"?',
        'time_zone: is not a field of a window; did you mean "timezone"?',
        'day: is not a field of a window; did you mean "days"?',
      ],
    ],
    [
      '22:00-06:00',
      [
        ': expected a window, such as { days: weekdays, from: "22:00", to: "06:00", timezone: Europe/Berlin }',
      ],
    ],
    // Times.
    [
      { ...night, from: 1320, to: 360 },
      [
        'from: is the number 1320, in which YAML 1.1 turns a time without quotes: write "22:00"',
        'to: is the number 360, in which YAML 1.1 turns a time without quotes: write "06:00"',
      ],
    ],
    [{ ...night, from: 22 }, ['from: is the number 22; write a time in quotes, such as "22:00"']],
    [{ ...night, from: new Date(0) }, ['from: was read as a date by YAML; write it in quotes']],
    [{ ...night, from: '25:00' }, ['from: "25:00" is not a time of day; they go from "00:00" to "23:59"']],
    [
      { ...night, to: '24:01' },
      [
        'to: "24:01" is not a time of day; they go from "00:00" to "23:59", and "24:00" is the end of the day',
      ],
    ],
    [{ ...night, from: '24:00' }, ['from: "24:00" cannot begin a window; write "00:00" and the next day']],
    [{ ...night, from: '22-6' }, ['from: "22-6" is not a time of day; write from: "22:00" and to: "06:00"']],
    [{ ...night, to: '6am' }, ['to: "6am" is not a time of day; write e.g. "22:00"']],
    [
      { ...night, days: 'sat-sun', from: '03:00', to: '3:00' },
      ['to: is the same as "from"; for whole days write from: "00:00" and to: "24:00"'],
    ],
    [
      { days: '2026-12-24', from: '22:00', timezone: 'UTC' },
      ['to: is missing; only days that are all dates can do without "from" and "to"'],
    ],
    [
      { timezone: 'UTC' },
      [
        'from: is missing; only days that are all dates can do without "from" and "to"',
        'to: is missing; only days that are all dates can do without "from" and "to"',
      ],
    ],
    // Zones.
    [
      { ...night, timezone: 'Europe/Berln' },
      ['timezone: "Europe/Berln" is not a time zone; did you mean Europe/Berlin?'],
    ],
    [
      { ...night, timezone: 'Berlin' },
      ['timezone: "Berlin" is not a time zone; did you mean Europe/Berlin?'],
    ],
    [
      { ...night, timezone: 'america/new york' },
      ['timezone: "america/new york" is not a time zone; did you mean America/New_York?'],
    ],
    [
      { ...night, timezone: 'europe_berlin' },
      ['timezone: "europe_berlin" is not a time zone; did you mean Europe/Berlin?'],
    ],
    [
      { ...night, timezone: 'UTC+2' },
      [
        'timezone: "UTC+2" is not a time zone; an offset does not know when clocks change: write a place such as Europe/Berlin, or Etc/GMT-2, which is always UTC+2',
      ],
    ],
    [
      { ...night, timezone: '+05:30' },
      [
        'timezone: "+05:30" is not a time zone; an offset does not know when clocks change: write a place such as Europe/Berlin',
      ],
    ],
    [
      { ...night, timezone: '' },
      ['timezone: "" is not a time zone; write an IANA name such as Europe/Berlin'],
    ],
    [
      { ...night, timezone: 'PST' },
      ['timezone: "PST" is not a time zone; write an IANA name such as Europe/Berlin'],
    ],
    [{ ...night, timezone: 120 }, ['timezone: expected an IANA name in quotes, such as "Europe/Berlin"']],
    [{ from: '22:00', to: '06:00' }, ['timezone: is missing; write an IANA name such as Europe/Berlin']],
    // Days.
    [{ ...night, days: 'weekend' }, ['days: "weekend" is not a day; did you mean weekends?']],
    [{ ...night, days: ['mon', 'thurs'] }, ['days.1: "thurs" is not a day; did you mean thu?']],
    [{ ...night, days: 'everyday' }, ['days: "everyday" is not a day; did you mean daily?']],
    [{ ...night, days: 'mon,wed' }, ['days: "mon,wed" is not a day; write a list, such as [mon, wed-fri]']],
    [
      { ...night, days: 'mon-mon' },
      ['days: "mon-mon" begins and ends with the same day; write mon, or daily'],
    ],
    [{ ...night, days: [] }, ['days: names no day; leave it out for every day']],
    [
      { ...night, days: [1] },
      [
        'days.0: expected days, such as daily, weekdays, weekends, fri, fri-mon, "2026-12-24" or "2026-12-24..2027-01-02"',
      ],
    ],
    [{ ...night, days: '2026-02-30' }, ['days: "2026-02-30" is not in the calendar']],
    [{ ...night, days: '2026-2-3' }, ['days: "2026-2-3" is not a date; write e.g. "2026-12-24"']],
    [{ ...night, days: '2027-01-02..2026-12-24' }, ['days: "2027-01-02..2026-12-24" ends before it begins']],
    // Stretches.
    [{ from: '2026-12-24', to: '2026-12-23', timezone: 'UTC' }, ['to: must be after "from"']],
    [{ from: '2026-12-24T18:00', to: '2026-12-24T18:00', timezone: 'UTC' }, ['to: must be after "from"']],
    [
      { from: '2026-03-29T02:10', to: '2026-03-29T02:50', timezone: 'Europe/Berlin' },
      ['to: must be after "from"'],
    ],
    [
      { from: '2026-12-24T18:00', to: '06:00', timezone: 'UTC' },
      ['to: "06:00" has no date, as the other end has; write e.g. "2026-12-24T18:00"'],
    ],
    [
      { from: '2026-12-24T18:00Z', to: '2026-12-25T18:00:00', timezone: 'UTC' },
      [
        'from: "2026-12-24T18:00Z" has an offset; leave it out, the time is that of "timezone"',
        'to: "2026-12-25T18:00:00" has seconds; windows are kept to the minute',
      ],
    ],
    [
      { days: 'fri', from: '2026-12-24', to: '2026-12-25', timezone: 'UTC' },
      ['days: cannot be there when "from" and "to" are dates; write the dates as "days", or leave it out'],
    ],
    [
      { from: '2026-12-24', to: '2600-01-01', timezone: 'UTC' },
      ['to: "2600-01-01" is out of range; it must be between 1970 and 2499'],
    ],
    [{ ...night, reason: '' }, ['reason: expected a text of 1 to 200 characters']],
  ])('is refused with field and remedy: %j', (source, problems) => {
    expect(problemsOf(source)).toEqual(problems);
  });
});

describe('a list of windows', () => {
  it('becomes rules', () => {
    expect(windowRules.parse([night])).toEqual(rules(night));
  });

  it('has every problem at its place', () => {
    const parsed = windowRules.safeParse([night, { ...night, from: '25:00', timezone: 'Berlin' }]);
    expect(parsed.error?.issues.map(({ path }) => path)).toEqual([
      [1, 'timezone'],
      [1, 'from'],
    ]);
  });

  it.each([
    ['one window', night],
    ['too many', Array.from({ length: 51 }, () => night)],
  ])('is refused when it is %s', (_, source) => {
    expect(windowRules.safeParse(source).success).toBe(false);
  });
});

describe('windows together', () => {
  const now = '2026-12-01T00:00:00.000Z';
  const always = { from: '00:00', to: '24:00', timezone: 'UTC' };

  it('are right while they leave time to run', () => {
    expect(checkWindows(pausing(night), now)).toEqual([]);
    expect(checkWindows(running(night), now)).toEqual([]);
  });

  it.each([
    [
      pausing({ ...always, days: 'weekdays' }, { ...always, days: 'weekends' }),
      'pauseWindows',
      'the job would never run: these leave it no time in the coming 400 days',
    ],
    [
      {
        pauseWindows: rules({ ...always, days: 'sat' }),
        runWindows: rules({ ...night, days: 'sat', timezone: 'UTC', to: '23:00' }),
      },
      'pauseWindows',
      'the job would never run: these cover all of its run windows in the coming 400 days',
    ],
    [
      running({ from: '2026-11-01', to: '2026-11-02', timezone: 'UTC' }),
      'runWindows',
      'the job would never run: none of these is open in the coming 400 days',
    ],
  ])('are refused when the job would never run', (windows, path, message) => {
    expect(checkWindows(windows, now)).toEqual([{ path, message }]);
  });
});
