/** How fast items end, counting only the time in which they may start. Pure. */

/** Reports that the rate is taken from: about half a minute in a storm of ends, hours where they are rare. */
const SAMPLES = 60;
/** Fewer ends say nothing of a rate. */
const MIN_ENDS = 3;

export interface Pace {
  /** Time in which the clock ran, up to `runsSince`. */
  readonly activeMs: number;
  /** `null`: it stands still. */
  readonly runsSince: string | null;
  readonly ended: number;
  readonly samples: readonly { readonly activeMs: number; readonly ended: number }[];
}

export function newPace(now: string): Pace {
  return { activeMs: 0, runsSince: now, ended: 0, samples: [{ activeMs: 0, ended: 0 }] };
}

export function countEnds(pace: Pace, ends: number, now: string): Pace {
  const ended = pace.ended + ends;
  return {
    ...pace,
    ended,
    samples: [...pace.samples, { activeMs: activeMsAt(pace, now), ended }].slice(-SAMPLES),
  };
}

/** Stops or starts the clock; a pause is no slowness. */
export function runClock(pace: Pace, runs: boolean, now: string): Pace {
  if (runs === (pace.runsSince !== null)) return pace;
  return { ...pace, activeMs: activeMsAt(pace, now), runsSince: runs ? now : null };
}

/** Ends per second of late; it sinks by itself when none come. `null`: too few to tell. */
export function endsPerSecond(pace: Pace, now: string): number | null {
  const [oldest] = pace.samples;
  if (oldest === undefined) return null;
  const ends = pace.ended - oldest.ended;
  const overMs = activeMsAt(pace, now) - oldest.activeMs;
  return ends < MIN_ENDS || overMs <= 0 ? null : (ends * 1000) / overMs;
}

function activeMsAt({ activeMs, runsSince }: Pace, now: string): number {
  return runsSince === null ? activeMs : activeMs + Date.parse(now) - Date.parse(runsSince);
}
