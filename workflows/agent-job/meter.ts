/** Splits a job's life into the time its sandbox ran, was paused, or was being made or resumed. */

import type { Rates } from '../../contract/job-settings.js';

export type Metered = 'running' | 'paused' | 'provisioning';

export interface Meter {
  readonly runningMs: number;
  readonly pausedMs: number;
  readonly provisioningMs: number;
  /** Of the running time: what was done after the last checkpoint before a crash. */
  readonly wastedMs: number;
  /** What is being measured since `since`; `null` when nothing exists that could cost. */
  readonly current: Metered | null;
  readonly since: string;
}

const HOUR_MS = 3_600_000;

export function newMeter(now: string): Meter {
  return { runningMs: 0, pausedMs: 0, provisioningMs: 0, wastedMs: 0, current: null, since: now };
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

/** Counts the work between the last change of the checkpoint and a crash as lost. */
export function addWaste(meter: Meter, unchangedSince: string, now: string): Meter {
  const lostMs = Math.max(0, Date.parse(now) - Date.parse(unchangedSince));
  return { ...meter, wastedMs: Math.min(meter.wastedMs + lostMs, readMeter(meter, now).runningMs) };
}

/** What the measured time costs. */
export function costOf({ runningMs, pausedMs, provisioningMs }: Meter, rates: Rates): number {
  const { runningPerHour, pausedPerHour } = rates;
  return ((runningMs + provisioningMs) * runningPerHour + pausedMs * pausedPerHour) / HOUR_MS;
}

/** What an hour costs as long as the meter measures what it measures now. */
export function costPerHour({ current }: Meter, rates: Rates): number {
  if (current === null) return 0;
  return current === 'paused' ? rates.pausedPerHour : rates.runningPerHour;
}
