/** Zones that do what others do not, and an independent computation of what windows mean in them. */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { zoneData } from '../../calendar/index.js';
import type { WindowSource } from '../../contract/windows.js';
import { pauses, pausing } from './support.js';

interface Fixture {
  readonly release: string;
  readonly cases: readonly {
    readonly window: WindowSource;
    readonly pauses: readonly string[];
  }[];
}

const fixture = JSON.parse(
  readFileSync(new URL('./zoneinfo-edges.json', import.meta.url), 'utf8'),
) as Fixture;

const NIGHT = ['22:00', '06:00'];
const MORNING = ['00:00', '06:00'];
const DAY = ['00:00', '24:00'];

describe('zones that do what others do not', () => {
  it.each([
    // Samoa went over the date line: 30 December 2011 was left out.
    [
      'Pacific/Apia',
      '2011-12-28..2011-12-31',
      NIGHT,
      [
        '2011-12-29T08:00Z..2011-12-29T16:00Z',
        '2011-12-30T08:00Z..2011-12-30T10:00Z',
        '2011-12-31T08:00Z..2011-12-31T16:00Z',
      ],
    ],
    ['Pacific/Apia', '2011-12-30', NIGHT, []],
    ['Pacific/Apia', '2011-12-30', DAY, []],
    // So did Kwajalein with 21 August 1993.
    [
      'Pacific/Kwajalein',
      '1993-08-20..1993-08-22',
      NIGHT,
      ['1993-08-21T10:00Z..1993-08-21T12:00Z', '1993-08-22T10:00Z..1993-08-22T18:00Z'],
    ],
    // Lord Howe's clocks go by half an hour, at 02:00.
    ['Australia/Lord_Howe', '2026-04-04', NIGHT, ['2026-04-04T11:00Z..2026-04-04T19:30Z']],
    ['Australia/Lord_Howe', '2026-10-03', NIGHT, ['2026-10-03T11:30Z..2026-10-03T19:00Z']],
    ['Australia/Lord_Howe', '2026-10-04', ['02:15', '03:00'], ['2026-10-03T15:30Z..2026-10-03T16:00Z']],
    // Midnight is skipped in spring, and the last hour of a day occurs twice in autumn.
    ['America/Santiago', '2026-09-06', MORNING, ['2026-09-06T04:00Z..2026-09-06T09:00Z']],
    ['America/Santiago', '2026-04-04', ['23:00', '24:00'], ['2026-04-05T02:00Z..2026-04-05T04:00Z']],
    ['Africa/Cairo', '2026-04-24', MORNING, ['2026-04-23T22:00Z..2026-04-24T03:00Z']],
    ['Africa/Cairo', '2026-10-29', ['23:00', '24:00'], ['2026-10-29T20:00Z..2026-10-29T22:00Z']],
    ['Asia/Beirut', '2026-03-29', MORNING, ['2026-03-28T22:00Z..2026-03-29T03:00Z']],
    ['Asia/Beirut', '2026-10-24', ['23:00', '24:00'], ['2026-10-24T20:00Z..2026-10-24T22:00Z']],
    ['America/Asuncion', '2023-10-01', MORNING, ['2023-10-01T04:00Z..2023-10-01T09:00Z']],
    // Paraguay has kept its summer time since October 2024.
    ['America/Asuncion', '2026-10-04', MORNING, ['2026-10-04T03:00Z..2026-10-04T09:00Z']],
    // 00:00 occurs twice in Havana: a window that begins there has its first, one that ends there its last.
    ['America/Havana', '2026-03-08', MORNING, ['2026-03-08T05:00Z..2026-03-08T10:00Z']],
    ['America/Havana', '2027-11-07', MORNING, ['2027-11-07T04:00Z..2027-11-07T11:00Z']],
    ['America/Havana', '2027-11-06', ['22:00', '24:00'], ['2027-11-07T02:00Z..2027-11-07T05:00Z']],
    // In the autumn of 2026 Cuba kept its summer time.
    ['America/Havana', '2026-11-01', MORNING, ['2026-11-01T04:00Z..2026-11-01T10:00Z']],
    // Greenland changes with Europe, which is on Saturday evening there.
    ['America/Nuuk', '2026-03-28', NIGHT, ['2026-03-29T00:00Z..2026-03-29T07:00Z']],
    ['America/Nuuk', '2026-10-24', NIGHT, ['2026-10-24T23:00Z..2026-10-25T08:00Z']],
    // Troll's clocks go by two hours.
    ['Antarctica/Troll', '2026-03-28', NIGHT, ['2026-03-28T22:00Z..2026-03-29T04:00Z']],
    ['Antarctica/Troll', '2026-10-24', NIGHT, ['2026-10-24T20:00Z..2026-10-25T06:00Z']],
    // British Columbia keeps its summer time from 2026 on.
    ['America/Vancouver', '2026-03-07', NIGHT, ['2026-03-08T06:00Z..2026-03-08T13:00Z']],
    ['America/Vancouver', '2026-10-31', NIGHT, ['2026-11-01T05:00Z..2026-11-01T13:00Z']],
    ['America/Vancouver', '2027-01-15', NIGHT, ['2027-01-16T05:00Z..2027-01-16T13:00Z']],
  ] as [string, string, [string, string], string[]][])(
    '%s on %s, %j',
    (timezone, days, [from, to], expected) => {
      const windows = pausing({ days, from, to, timezone });
      const begin = `${Number(days.slice(0, 4)) - 1}-12-01T00:00:00Z`;
      expect(pauses(windows, begin, { maxPeriods: 9 })).toEqual(expected);
    },
  );
});

describe(`what Python's zoneinfo computes from release ${fixture.release}`, () => {
  it('is the same release of the zone data, or a newer one here', () => {
    expect(zoneData().version >= fixture.release).toBe(true);
  });

  it.each(fixture.cases)(
    '$window.timezone $window.days $window.from-$window.to',
    ({ window, pauses: expected }) => {
      const from = new Date(Date.parse((window.days as string).slice(0, 10)) - 3 * 86_400_000);
      expect(pauses(pausing(window), from.toISOString(), { maxPeriods: 99 })).toEqual(expected);
    },
  );
});
