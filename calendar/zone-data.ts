/**
 * The zone data of moment-timezone. Only its data is used: Node carries data of its own, but as old as Node
 * is, and countries change their clocks at short notice. It is loaded when a zone is first asked for, since
 * that takes some 25 ms, which most commands need not spend.
 */

import { createRequire } from 'node:module';
import type moment from 'moment-timezone';
import { DAY_MS } from './dates.js';

/** One offset, from its first instant to the next one's. */
export interface OffsetSpan {
  readonly startMs: number;
  readonly endMs: number;
  /** Local time minus UTC. */
  readonly offsetMs: number;
}

let loaded: typeof moment | undefined;

function data(): (typeof moment)['tz'] {
  loaded ??= createRequire(import.meta.url)('moment-timezone') as typeof moment;
  return loaded.tz;
}

/** All IANA names, links among them. */
export function zoneNames(): readonly string[] {
  return data().names();
}

/** All offsets that a zone has had and will have (as far as that is known: to 2499), in their order. */
export function offsetSpans(name: string): readonly OffsetSpan[] {
  const zone = data().zone(name);
  if (zone === null) throw new RangeError(`The zone data has no zone "${name}".`);
  return zone.untils.map((endMs, index) => ({
    startMs: zone.untils[index - 1] ?? Number.NEGATIVE_INFINITY,
    endMs,
    // Minutes west of Greenwich there; local mean times have seconds, too.
    offsetMs: Math.round((zone.offsets[index] as number) * -60) * 1000,
  }));
}

export interface ZoneData {
  readonly source: string;
  /** The release of the IANA data: its year and a letter, such as `2026f`. */
  readonly version: string;
}

/** Whose zone data the windows are computed with. */
export function zoneData(): ZoneData {
  return { source: 'moment-timezone', version: data().dataVersion };
}

/** Releases of a year follow each other in about so many days; there are three to ten a year. */
const DAYS_PER_RELEASE = 45;
const OLD_AFTER_DAYS = 548;

/**
 * Zone data counts as old about 18 months after its release. A version tells the year and how manieth
 * release of it this was: `2026a` counts as of 1 January 2026, and each letter as 45 days more.
 */
export function isZoneDataOld(nowMs: number, { version } = zoneData()): boolean {
  const match = /^(\d{4})([a-z])/.exec(version);
  if (match === null) return true;
  const [, year, letter] = match as unknown as [string, string, string];
  const daysIntoYear = Math.min(364, (letter.charCodeAt(0) - 'a'.charCodeAt(0)) * DAYS_PER_RELEASE);
  return nowMs - Date.UTC(Number(year), 0, 1) > (daysIntoYear + OLD_AFTER_DAYS) * DAY_MS;
}
