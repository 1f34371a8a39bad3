import fc from 'fast-check';
import moment from 'moment-timezone';
import { describe, expect, it } from 'vitest';
import { planPauses } from '../../calendar/index.js';
import { WEEKDAYS, type WindowRules, type WindowSource } from '../../contract/windows.js';
import { type DailyWindow, isOpenAt, openedOn } from './brute-force.js';
import { isPaused, rules } from './support.js';

const DAY_MS = 86_400_000;
const BEGIN_MS = Date.UTC(2026, 0, 1);
const TEN_YEARS_DAYS = 3652;

const timezone = fc.constantFrom(...moment.tz.names());

/** Half of the instants are near a change of the zone's clocks, where the mistakes are. */
function instantIn(zone: string): fc.Arbitrary<number> {
  const anywhere = fc
    .integer({ min: 0, max: TEN_YEARS_DAYS * 1440 })
    .map((minute) => BEGIN_MS + minute * 60_000);
  const changes = (moment.tz.zone(zone)?.untils ?? []).filter(
    (at) => at > BEGIN_MS && at < BEGIN_MS + TEN_YEARS_DAYS * DAY_MS,
  );
  if (changes.length === 0) return anywhere;
  const near = fc
    .tuple(fc.constantFrom(...changes), fc.integer({ min: -1500, max: 1500 }))
    .map(([at, minutes]) => at + minutes * 60_000);
  return fc.oneof(anywhere, near);
}

const minuteOfDay = fc.oneof(
  fc.integer({ min: 0, max: 1439 }),
  // Clocks are changed at such times.
  fc.constantFrom(0, 15, 30, 60, 90, 119, 120, 150, 179, 180, 1380, 1410, 1439),
);

function windowIn(zone: fc.Arbitrary<string>): fc.Arbitrary<DailyWindow> {
  return fc
    .record({
      timezone: zone,
      weekdays: fc.subarray([0, 1, 2, 3, 4, 5, 6], { minLength: 1 }),
      fromMinute: minuteOfDay,
      toMinute: minuteOfDay,
    })
    .filter(({ fromMinute, toMinute }) => fromMinute !== toMinute);
}

function sourceOf({ timezone, weekdays, fromMinute, toMinute }: DailyWindow): WindowSource {
  const time = (minute: number) => `${Math.floor(minute / 60)}:${String(minute % 60).padStart(2, '0')}`;
  const days = weekdays.map((weekday) => WEEKDAYS[weekday] as string);
  return { days, from: time(fromMinute), to: time(toMinute), timezone };
}

function planOf(windows: WindowRules, fromMs: number, maxPeriods: number, horizonDays: number) {
  const plan = planPauses(windows, new Date(fromMs).toISOString(), { maxPeriods, horizonDays });
  return plan.periods.map(({ start, end }) => ({ startMs: Date.parse(start), endMs: Date.parse(end) }));
}

const windowAndInstant = timezone.chain((zone) => fc.tuple(windowIn(fc.constant(zone)), instantIn(zone)));

describe('in all zones and for ten years', () => {
  it('edges are those that the wall clock shows, none left out and none twice', () => {
    fc.assert(
      fc.property(windowAndInstant, ([window, atMs]) => {
        const today = Math.floor(atMs / DAY_MS);
        const opened = [-2, -1, 0, 1, 2, 3].flatMap((offset) => openedOn(today + offset, window) ?? []);
        const expected: { startMs: number; endMs: number }[] = [];
        for (const each of opened) {
          const last = expected.at(-1);
          if (last !== undefined && each.startMs <= last.endMs) last.endMs = Math.max(last.endMs, each.endMs);
          else expected.push({ ...each });
        }
        // Those at the sides may go on where nobody has looked.
        const isWithin = ({ startMs, endMs }: { startMs: number; endMs: number }) =>
          startMs > atMs - DAY_MS && endMs < atMs + 2 * DAY_MS;
        const found = planOf({ pauseWindows: rules(sourceOf(window)), runWindows: [] }, atMs - DAY_MS, 99, 4);
        expect(found.filter(isWithin)).toEqual(expected.filter(isWithin));
      }),
      { numRuns: 300 },
    );
  });

  it('a daily window opens on each day, in order and never touching', () => {
    fc.assert(
      fc.property(timezone, fc.integer({ min: 240, max: 1200 }), (zone, fromMinute) => {
        const window = {
          timezone: zone,
          weekdays: [0, 1, 2, 3, 4, 5, 6],
          fromMinute,
          toMinute: fromMinute + 60,
        };
        const windows = { pauseWindows: rules(sourceOf(window)), runWindows: [] };
        const found = planOf(windows, BEGIN_MS, Number.POSITIVE_INFINITY, TEN_YEARS_DAYS);
        const days = found.map(({ startMs }) => {
          const offsetMinutes = -(moment.tz.zone(zone) as moment.MomentZone).utcOffset(startMs);
          return Math.floor((startMs + offsetMinutes * 60_000) / DAY_MS);
        });
        expect(new Set(days).size).toBe(found.length);
        expect((days.at(-1) as number) - (days[0] as number)).toBe(found.length - 1);
        found.forEach(({ startMs, endMs }, index) => {
          expect(startMs).toBeLessThan(endMs);
          expect(endMs).toBeLessThan(found[index + 1]?.startMs ?? Number.POSITIVE_INFINITY);
        });
      }),
      { numRuns: 40 },
    );
  });

  it('a job is paused exactly while a pause window is open or no run window is', () => {
    const several = timezone.chain((zone) =>
      fc.record({
        pauseWindows: fc.array(windowIn(fc.oneof(fc.constant(zone), timezone)), { maxLength: 3 }),
        runWindows: fc.array(windowIn(fc.oneof(fc.constant(zone), timezone)), { maxLength: 2 }),
        atMs: instantIn(zone),
      }),
    );
    fc.assert(
      fc.property(several, ({ pauseWindows, runWindows, atMs }) => {
        const expected =
          pauseWindows.some((window) => isOpenAt(atMs, window)) ||
          (runWindows.length > 0 && !runWindows.some((window) => isOpenAt(atMs, window)));
        const windows = {
          pauseWindows: rules(...pauseWindows.map(sourceOf)),
          runWindows: rules(...runWindows.map(sourceOf)),
        };
        expect(isPaused(windows, new Date(atMs).toISOString())).toBe(expected);
      }),
      { numRuns: 200 },
    );
  });

  it('a plan that is made later has the same pauses', () => {
    fc.assert(
      fc.property(windowAndInstant, fc.integer({ min: 0, max: 20 * 1440 }), ([window, fromMs], minutes) => {
        const windows = { pauseWindows: rules(sourceOf(window)), runWindows: [] };
        const laterMs = fromMs + minutes * 60_000;
        const early = planOf(windows, fromMs, 99, 40).filter(({ endMs }) => endMs > laterMs);
        const late = planOf(windows, laterMs, 99, 40);
        const count = Math.min(early.length, late.length);
        // Whole weeks that are paused have neither a beginning nor an end, but what the search reached.
        fc.pre(early.every(({ startMs, endMs }) => endMs - startMs < 20 * DAY_MS));
        expect(late.slice(0, count)).toEqual(early.slice(0, count));
      }),
      { numRuns: 200 },
    );
  });
});
