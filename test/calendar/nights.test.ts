/** Nights on which the clocks of well-known zones are changed, and what windows mean on them. */

import { describe, expect, it } from 'vitest';
import { hours, isPaused, pauses, pausing } from './support.js';

const berlin = pausing({ from: '22:00', to: '06:00', timezone: 'Europe/Berlin' });

describe('a window over the night on which clocks change', () => {
  it.each([
    ['autumn', '2026-10-24T12:00:00Z', '2026-10-24T20:00Z..2026-10-25T05:00Z', 9],
    ['the night after it', '2026-10-25T12:00:00Z', '2026-10-25T21:00Z..2026-10-26T05:00Z', 8],
    ['spring', '2026-03-28T12:00:00Z', '2026-03-28T21:00Z..2026-03-29T04:00Z', 7],
    ['summer', '2026-06-15T12:00:00Z', '2026-06-15T20:00Z..2026-06-16T04:00Z', 8],
    ['winter', '2026-01-15T12:00:00Z', '2026-01-15T21:00Z..2026-01-16T05:00Z', 8],
  ])('keeps to the wall clock in %s', (_, from, period, length) => {
    expect(pauses(berlin, from)).toEqual([period]);
    expect(hours(berlin, from)).toBe(length);
  });

  it('is one pause a night', () => {
    const plan = pauses(berlin, '2026-10-23T12:00:00Z', { maxPeriods: 4 });
    expect(plan).toEqual([
      '2026-10-23T20:00Z..2026-10-24T04:00Z',
      '2026-10-24T20:00Z..2026-10-25T05:00Z',
      '2026-10-25T21:00Z..2026-10-26T05:00Z',
      '2026-10-26T21:00Z..2026-10-27T05:00Z',
    ]);
  });

  it('moves a start in the gap to the first instant after it, and skips no day', () => {
    const newYork = pausing({ from: '02:30', to: '05:00', timezone: 'America/New_York' });
    expect(pauses(newYork, '2026-03-07T00:00:00Z', { maxPeriods: 3 })).toEqual([
      '2026-03-07T07:30Z..2026-03-07T10:00Z',
      '2026-03-08T07:00Z..2026-03-08T09:00Z',
      '2026-03-09T06:30Z..2026-03-09T09:00Z',
    ]);
  });

  it('moves an end in the gap likewise, and leaves out what lies in the gap as a whole', () => {
    const endsInGap = pausing({ from: '01:00', to: '02:30', timezone: 'America/New_York' });
    expect(pauses(endsInGap, '2026-03-08T00:00:00Z')).toEqual(['2026-03-08T06:00Z..2026-03-08T07:00Z']);
    const withinGap = pausing({ from: '02:15', to: '02:45', timezone: 'America/New_York' });
    expect(pauses(withinGap, '2026-03-08T00:00:00Z')).toEqual(['2026-03-09T06:15Z..2026-03-09T06:45Z']);
  });

  it('takes the longer pause where a time occurs twice', () => {
    const repeated = (from: string, to: string) => pausing({ from, to, timezone: 'Europe/Berlin' });
    expect(pauses(repeated('02:00', '05:00'), '2026-10-24T12:00:00Z')).toEqual([
      '2026-10-25T00:00Z..2026-10-25T04:00Z',
    ]);
    expect(pauses(repeated('01:00', '02:00'), '2026-10-24T12:00:00Z')).toEqual([
      '2026-10-24T23:00Z..2026-10-25T01:00Z',
    ]);
    expect(pauses(repeated('02:15', '02:45'), '2026-10-24T12:00:00Z')).toEqual([
      '2026-10-25T00:15Z..2026-10-25T01:45Z',
    ]);
    expect(pauses(repeated('01:00', '03:00'), '2026-10-24T12:00:00Z')).toEqual([
      '2026-10-24T23:00Z..2026-10-25T02:00Z',
    ]);
  });

  it.each([
    ['America/Santiago', '00:00', '06:00', '2026-09-05T20:00:00Z', '2026-09-06T04:00Z..2026-09-06T09:00Z', 5],
    ['Africa/Cairo', '00:00', '06:00', '2026-04-23T12:00:00Z', '2026-04-23T22:00Z..2026-04-24T03:00Z', 5],
    ['America/Santiago', '22:00', '00:00', '2026-09-05T12:00:00Z', '2026-09-06T02:00Z..2026-09-06T04:00Z', 2],
    ['America/Santiago', '22:00', '24:00', '2026-09-05T12:00:00Z', '2026-09-06T02:00Z..2026-09-06T04:00Z', 2],
  ])('is right in %s, where midnight is skipped, from %s to %s', (timezone, from, to, at, period, length) => {
    const windows = pausing({ from, to, timezone });
    expect(pauses(windows, at)).toEqual([period]);
    expect(hours(windows, at)).toBe(length);
  });
});

describe('a window with days', () => {
  it('belongs to the day on which it begins', () => {
    const friday = pausing({ days: 'fri', from: '22:00', to: '06:00', timezone: 'Europe/Berlin' });
    const probes = [
      '2026-06-05T00:00:00Z',
      '2026-06-05T20:01:00Z',
      '2026-06-06T00:00:00Z',
      '2026-06-06T04:01:00Z',
      '2026-06-06T20:01:00Z',
    ];
    expect(probes.map((at) => isPaused(friday, at))).toEqual([false, true, true, false, false]);
    expect(pauses(friday, '2026-06-05T00:00:00Z')).toEqual(['2026-06-05T20:00Z..2026-06-06T04:00Z']);
  });

  it('is one pause over a range of whole days that goes over the end of the week', () => {
    const windows = pausing({ days: 'Fri-Mon', from: '00:00', to: '24:00', timezone: 'UTC' });
    expect(pauses(windows, '2026-06-03T00:00:00Z', { maxPeriods: 2 })).toEqual([
      '2026-06-05T00:00Z..2026-06-09T00:00Z',
      '2026-06-12T00:00Z..2026-06-16T00:00Z',
    ]);
  });

  it('is kept on 29 February', () => {
    const windows = pausing({ days: '2028-02-28..2028-03-01', from: '20:00', to: '21:00', timezone: 'UTC' });
    expect(pauses(windows, '2028-01-01T00:00:00Z', { maxPeriods: 9 })).toEqual([
      '2028-02-28T20:00Z..2028-02-28T21:00Z',
      '2028-02-29T20:00Z..2028-02-29T21:00Z',
      '2028-03-01T20:00Z..2028-03-01T21:00Z',
    ]);
  });

  it('may have dates without times: then it is the whole of them', () => {
    const windows = pausing({ days: ['2026-12-24', '2027-01-01..2027-01-02'], timezone: 'Europe/Berlin' });
    expect(pauses(windows, '2026-12-01T00:00:00Z', { maxPeriods: 9 })).toEqual([
      '2026-12-23T23:00Z..2026-12-24T23:00Z',
      '2026-12-31T23:00Z..2027-01-02T23:00Z',
    ]);
  });

  it('may have days, ranges and dates mixed, and a day that is named twice counts once', () => {
    const windows = pausing({
      days: ['wed', '2026-12-24', 'Thursday', '2026-12-24..2026-12-25'],
      from: '8:00',
      to: '09:00',
      timezone: 'UTC',
    });
    expect(pauses(windows, '2026-12-21T00:00:00Z', { maxPeriods: 4 })).toEqual([
      '2026-12-23T08:00Z..2026-12-23T09:00Z',
      '2026-12-24T08:00Z..2026-12-24T09:00Z',
      '2026-12-25T08:00Z..2026-12-25T09:00Z',
      '2026-12-30T08:00Z..2026-12-30T09:00Z',
    ]);
  });
});

describe('an offset', () => {
  it('is that of the season, whenever the job was submitted', () => {
    const newYork = pausing({ from: '19:00', to: '23:00', timezone: 'America/New_York' });
    const inJanuary = pauses(newYork, '2026-01-15T12:00:00Z', { maxPeriods: 300 });
    expect(inJanuary[0]).toBe('2026-01-16T00:00Z..2026-01-16T04:00Z');
    expect(inJanuary).toContain('2026-07-15T23:00Z..2026-07-16T03:00Z');
    const inJuly = pauses(newYork, '2026-07-15T12:00:00Z', { maxPeriods: 300 });
    expect(inJuly[0]).toBe('2026-07-15T23:00Z..2026-07-16T03:00Z');
    expect(inJuly).toContain('2027-01-16T00:00Z..2027-01-16T04:00Z');
  });

  it('may be the zone itself, counted as POSIX does', () => {
    const windows = pausing({ from: '22:00', to: '06:00', timezone: 'Etc/GMT+2' });
    expect(pauses(windows, '2026-06-03T12:00:00Z')).toEqual(['2026-06-04T00:00Z..2026-06-04T08:00Z']);
  });

  it('is found by any spelling of a zone, links among them', () => {
    for (const timezone of ['Europe/Kyiv', 'europe/kyiv', 'EUROPE/KIEV']) {
      expect(pauses(pausing({ from: '22:00', to: '06:00', timezone }), '2026-03-28T12:00:00Z')).toEqual([
        '2026-03-28T20:00Z..2026-03-29T03:00Z',
      ]);
    }
  });
});
