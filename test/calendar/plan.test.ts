import { describe, expect, it } from 'vitest';
import { leavesTimeToRun, planPauses } from '../../calendar/index.js';
import { pauses, pausing, rules, running } from './support.js';

const office = { days: 'weekdays', from: '08:00', to: '18:00', timezone: 'Europe/Berlin' };

describe('several windows', () => {
  it('make one pause where they overlap', () => {
    const windows = pausing(
      { from: '20:00', to: '23:00', timezone: 'UTC' },
      { from: '22:00', to: '02:00', timezone: 'UTC' },
    );
    expect(pauses(windows, '2026-06-03T12:00:00Z', { maxPeriods: 2 })).toEqual([
      '2026-06-03T20:00Z..2026-06-04T02:00Z',
      '2026-06-04T20:00Z..2026-06-05T02:00Z',
    ]);
  });

  it('make one pause where they touch', () => {
    const windows = pausing(
      { from: '22:00', to: '23:00', timezone: 'UTC' },
      { from: '20:00', to: '22:00', timezone: 'UTC' },
    );
    expect(pauses(windows, '2026-06-03T12:00:00Z')).toEqual(['2026-06-03T20:00Z..2026-06-03T23:00Z']);
  });

  it('give it all of their reasons, and the zone of the one that begins it', () => {
    const windows = pausing(
      { from: '22:00', to: '02:00', timezone: 'Europe/Berlin', reason: 'night' },
      { from: '21:00', to: '22:00', timezone: 'UTC', reason: 'backup' },
      { from: '22:30', to: '23:00', timezone: 'UTC' },
      { from: '23:00', to: '23:30', timezone: 'UTC', reason: 'night' },
    );
    const [period] = planPauses(windows, '2026-06-03T12:00:00Z', { maxPeriods: 1 }).periods;
    expect(period).toEqual({
      start: '2026-06-03T20:00:00.000Z',
      end: '2026-06-04T00:00:00.000Z',
      reason: 'night, backup',
      timezone: 'Europe/Berlin',
    });
  });
});

describe('a plan', () => {
  const night = pausing({ from: '22:00', to: '06:00', timezone: 'UTC' });

  it('begins with the pause that is open, from its true start', () => {
    expect(pauses(night, '2026-06-04T03:00:00Z')).toEqual(['2026-06-03T22:00Z..2026-06-04T06:00Z']);
    const long = pausing({ from: '2026-01-01', to: '2026-12-31', timezone: 'UTC' });
    expect(pauses(long, '2026-11-04T03:00:00Z')).toEqual(['2026-01-01T00:00Z..2027-01-01T00:00Z']);
  });

  it('has a pause at its start, and no longer at its end', () => {
    expect(pauses(night, '2026-06-03T22:00:00Z')).toEqual(['2026-06-03T22:00Z..2026-06-04T06:00Z']);
    expect(pauses(night, '2026-06-04T06:00:00Z')).toEqual(['2026-06-04T22:00Z..2026-06-05T06:00Z']);
  });

  it('is complete up to the end of its last pause when it was asked for only so many', () => {
    const plan = planPauses(night, '2026-06-03T12:00:00Z', { maxPeriods: 2 });
    expect(plan.periods).toHaveLength(2);
    expect(plan.plannedUntil).toBe('2026-06-05T06:00:00.000Z');
    expect(plan.endless).toBe(false);
  });

  it('is complete up to its horizon when there are fewer', () => {
    const christmas = pausing({
      from: '2026-12-24T18:00',
      to: '2027-01-02T06:00',
      timezone: 'Europe/Berlin',
    });
    const plan = planPauses(christmas, '2026-12-01T00:00:00Z', { maxPeriods: 9 });
    expect(plan.periods.map(({ start, end }) => [start, end])).toEqual([
      ['2026-12-24T17:00:00.000Z', '2027-01-02T05:00:00.000Z'],
    ]);
    expect(plan.plannedUntil).toBe('2028-01-05T00:00:00.000Z');
  });

  it.each([
    ['there are no windows', pausing()],
    ['the next one is far away', pausing({ days: '2400-01-01', timezone: 'UTC' })],
    ['the next stretch is far away', pausing({ from: '2400-01-01', to: '2401-01-01', timezone: 'UTC' })],
    ['they are over', pausing({ days: '2020-01-01..2020-03-01', timezone: 'UTC' })],
  ])('is empty up to its horizon, and quickly so, when %s', (_, windows) => {
    const begun = performance.now();
    const plan = planPauses(windows, '2026-12-01T00:00:00Z', { maxPeriods: 5 });
    expect(plan).toEqual({ periods: [], plannedUntil: '2028-01-05T00:00:00.000Z', endless: false });
    expect(performance.now() - begun).toBeLessThan(5000);
  });

  it('follows a pause over the horizon to its end', () => {
    const plan = planPauses(
      pausing({ from: '2026-12-02', to: '2027-03-01', timezone: 'UTC' }),
      '2026-12-01T00:00:00Z',
      {
        maxPeriods: 5,
        horizonDays: 10,
      },
    );
    expect(plan.periods[0]?.end).toBe('2027-03-02T00:00:00.000Z');
    expect(plan.plannedUntil).toBe('2027-03-02T00:00:00.000Z');
  });

  it('tells a pause that never ends', () => {
    const always = pausing(
      { days: 'weekdays', from: '00:00', to: '24:00', timezone: 'UTC' },
      { days: 'weekends', from: '00:00', to: '24:00', timezone: 'UTC' },
    );
    const plan = planPauses(always, '2026-12-01T00:00:00Z', { maxPeriods: 5 });
    expect(plan.endless).toBe(true);
    expect(plan.periods).toHaveLength(1);
    expect(plan.plannedUntil).toBe(plan.periods[0]?.end);
  });

  it.each([1, 50])('takes little time even for many windows that never end (%d)', (count) => {
    const window = { from: '00:00', to: '24:00', timezone: 'Europe/Berlin' };
    const windows = {
      pauseWindows: rules(...Array.from({ length: count }, () => window)),
      runWindows: rules(...Array.from({ length: count }, () => office)),
    };
    const begun = performance.now();
    planPauses(windows, '2026-12-01T00:00:00Z', { maxPeriods: 5 });
    expect(performance.now() - begun).toBeLessThan(20_000);
  });

  it('refuses an instant that is none', () => {
    expect(() => planPauses(night, 'today', { maxPeriods: 1 })).toThrow('"today" is not an instant.');
  });
});

describe('run windows', () => {
  it('pause a job whenever none of them is open', () => {
    expect(pauses(running(office), '2026-06-03T12:00:00Z', { maxPeriods: 3 })).toEqual([
      '2026-06-03T16:00Z..2026-06-04T06:00Z',
      '2026-06-04T16:00Z..2026-06-05T06:00Z',
      '2026-06-05T16:00Z..2026-06-08T06:00Z',
    ]);
  });

  it('are cut by pause windows', () => {
    const windows = {
      runWindows: rules(office),
      pauseWindows: rules({ from: '12:00', to: '13:00', timezone: 'Europe/Berlin', reason: 'lunch' }),
    };
    const { periods } = planPauses(windows, '2026-06-03T09:00:00Z', { maxPeriods: 2 });
    expect(periods.map(({ start, end, reason }) => [start.slice(0, 16), end.slice(0, 16), reason])).toEqual([
      ['2026-06-03T10:00', '2026-06-03T11:00', 'lunch'],
      ['2026-06-03T16:00', '2026-06-04T06:00', 'outside the run windows'],
    ]);
  });

  it('name themselves in the reason', () => {
    const [period] = planPauses(running({ ...office, reason: 'office hours' }), '2026-06-03T00:00:00Z', {
      maxPeriods: 1,
    }).periods;
    expect(period?.reason).toBe('outside the run windows (office hours)');
  });

  it('that are whole days leave no pause between them', () => {
    const windows = running({ days: 'sat-sun', from: '00:00', to: '24:00', timezone: 'UTC' });
    expect(pauses(windows, '2026-06-06T00:00:00Z')).toEqual(['2026-06-08T00:00Z..2026-06-13T00:00Z']);
  });

  it('that open only once leave a pause before, and one without end after', () => {
    const windows = running({ from: '2026-12-24', to: '2026-12-26', timezone: 'UTC' });
    const plan = planPauses(windows, '2026-12-01T00:00:00Z', { maxPeriods: 5 });
    expect(plan.endless).toBe(true);
    expect(plan.periods[0]?.end).toBe('2026-12-24T00:00:00.000Z');
    expect(plan.periods[1]?.start).toBe('2026-12-27T00:00:00.000Z');
    expect(plan.periods).toHaveLength(2);
  });
});

describe('time to run', () => {
  const now = '2026-12-01T12:00:00Z';

  it.each([
    ['without windows', pausing(), true],
    ['at night', pausing({ from: '22:00', to: '06:00', timezone: 'UTC' }), true],
    ['for one minute a day', pausing({ from: '00:01', to: '24:00', timezone: 'UTC' }), true],
    ['not with every day paused as a whole', pausing({ from: '00:00', to: '24:00', timezone: 'UTC' }), false],
    [
      'not in a pause of three years',
      pausing({ from: '2026-01-01', to: '2029-01-01', timezone: 'UTC' }),
      false,
    ],
    ['after a pause of a month', pausing({ from: '2026-11-15', to: '2026-12-15', timezone: 'UTC' }), true],
    ['once in the coming year', running({ from: '2027-08-01', to: '2027-08-01', timezone: 'UTC' }), true],
    [
      'not when the run windows are over',
      running({ from: '2026-08-01', to: '2026-08-01', timezone: 'UTC' }),
      false,
    ],
  ])('is found %s', (_, windows, expected) => {
    expect(leavesTimeToRun(windows, now)).toBe(expected);
  });
});
