/** Splits a job's life into the time its sandbox ran, was paused, or was being made or resumed. */

export type Metered = 'running' | 'paused' | 'provisioning';

export interface Meter {
  readonly runningMs: number;
  readonly pausedMs: number;
  readonly provisioningMs: number;
  /** What is being measured since `since`; `null` when nothing exists that could cost. */
  readonly current: Metered | null;
  readonly since: string;
}

export function newMeter(now: string): Meter {
  return { runningMs: 0, pausedMs: 0, provisioningMs: 0, current: null, since: now };
}

/**
 * Goes on to measure `next` from `at`. Times come from several clocks (server, workers);
 * one that runs backwards is taken as standing still.
 */
export function switchMeter(meter: Meter, next: Metered | null, at: string): Meter {
  const since = at > meter.since ? at : meter.since;
  return { ...readMeter(meter, since), current: next, since };
}

/** The meter as it stands at `now`. */
export function readMeter(meter: Meter, now: string): Meter {
  if (meter.current === null) return meter;
  const elapsedMs = Math.max(0, Date.parse(now) - Date.parse(meter.since));
  const key = `${meter.current}Ms` as const;
  return { ...meter, [key]: meter[key] + elapsedMs, since: now };
}
