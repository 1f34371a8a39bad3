/** Wall clocks and instants of a zone, with what happens where clocks are changed. */

import { DAY_MS } from './dates.js';
import { type OffsetSpan, offsetSpans } from './zone-data.js';

/** A change of the clocks. */
export interface ClockChange {
  readonly atMs: number;
  /** Positive where they go forward. */
  readonly byMs: number;
}

const zones = new Map<string, Zone>();

/** @throws RangeError for a name that the zone data has not. */
export function zoneOf(name: string): Zone {
  let zone = zones.get(name);
  if (zone === undefined) {
    zone = new Zone(offsetSpans(name));
    zones.set(name, zone);
  }
  return zone;
}

export class Zone {
  readonly #spans: readonly OffsetSpan[];

  constructor(spans: readonly OffsetSpan[]) {
    this.#spans = spans;
  }

  offsetMsAt(instantMs: number): number {
    return this.#span(this.#indexAt(instantMs)).offsetMs;
  }

  /** What the wall clock shows. */
  wallMsAt(instantMs: number): number {
    return instantMs + this.offsetMsAt(instantMs);
  }

  /**
   * The first instant at which the wall clock has reached this time. Of a time that occurs twice it is the
   * first; of one that is skipped the first instant after the gap.
   */
  firstInstantOf(wallMs: number): number {
    // No offset is longer than a day, so the clock cannot have reached it before.
    for (let index = this.#indexAt(wallMs - DAY_MS); ; index += 1) {
      const { startMs, endMs, offsetMs } = this.#span(index);
      if (endMs + offsetMs > wallMs) return Math.max(startMs, wallMs - offsetMs);
    }
  }

  /**
   * The last instant at which the wall clock has not passed this time. Of a time that occurs twice it is the
   * last; of one that is skipped the first instant after the gap.
   */
  lastInstantOf(wallMs: number): number {
    for (let index = this.#indexAt(wallMs + DAY_MS); ; index -= 1) {
      const { startMs, endMs, offsetMs } = this.#span(index);
      if (startMs + offsetMs <= wallMs) return Math.min(endMs, wallMs - offsetMs);
    }
  }

  /** The day is there, at least in part: Samoa, for one, had no 30 December 2011. */
  hasDay(day: number): boolean {
    return this.firstInstantOf(day * DAY_MS) < this.lastInstantOf((day + 1) * DAY_MS);
  }

  /** Both ends belong to the stretch that is looked at. */
  clockChanges(fromMs: number, toMs: number): ClockChange[] {
    const changes: ClockChange[] = [];
    const last = this.#indexAt(toMs);
    for (let index = Math.max(1, this.#indexAt(fromMs - 1) + 1); index <= last; index += 1) {
      const { startMs, offsetMs } = this.#span(index);
      const byMs = offsetMs - this.#span(index - 1).offsetMs;
      // Some changes are only of the name.
      if (byMs !== 0) changes.push({ atMs: startMs, byMs });
    }
    return changes;
  }

  #indexAt(instantMs: number): number {
    let low = 0;
    let high = this.#spans.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#span(middle).endMs > instantMs) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #span(index: number): OffsetSpan {
    return this.#spans[index] as OffsetSpan;
  }
}
