/** What of a job may be changed while it lives. Checked by job-settings.schema.ts, trusted behind it. */

import type { NotifySpec } from './notifications.js';
import type { WindowRule } from './windows.js';

export const LIMIT_NAMES = ['runningTime', 'wallTime', 'deadline', 'cost'] as const;
export type LimitName = (typeof LIMIT_NAMES)[number];

/** `null`: no such limit. */
export interface Limits {
  /** Time in which the sandbox runs. */
  readonly runningTimeMs: number | null;
  /** Time since the job was started, paused or not. */
  readonly wallTimeMs: number | null;
  /** ISO 8601, UTC. */
  readonly deadline: string | null;
  /** In the currency of the rates. */
  readonly cost: number | null;
}

/** What an hour of the sandbox costs. Provisioning counts as running. */
export interface Rates {
  readonly runningPerHour: number;
  readonly pausedPerHour: number;
  /** Only shown, e.g. `EUR`. */
  readonly currency: string;
}

export interface JobSettings {
  readonly pauseWindows: readonly WindowRule[];
  /** With any, the job is paused whenever none of them is open. */
  readonly runWindows: readonly WindowRule[];
  /** Jobs that share a window's edge act on it up to so long after it, each at its own moment. */
  readonly windowSpreadMs: number;
  readonly limits: Limits;
  /** What to do at a limit: pause and ask a person, or end the job. */
  readonly onLimit: 'ask' | 'stop';
  readonly rates: Rates | null;
  /** What to do when the agent comes back from a pause with an older checkpoint. */
  readonly onRegression: 'warn' | 'fail';
  /** An agent that waits for a person is paused after so long. */
  readonly inputGraceMs: number;
  readonly notify: readonly NotifySpec[];
}

export const NO_LIMITS: Limits = { runningTimeMs: null, wallTimeMs: null, deadline: null, cost: null };

/** Settings of a job whose spec names none. */
export const DEFAULT_SETTINGS: JobSettings = {
  pauseWindows: [],
  runWindows: [],
  windowSpreadMs: 30_000,
  limits: NO_LIMITS,
  onLimit: 'ask',
  rates: null,
  onRegression: 'warn',
  inputGraceMs: 60_000,
  notify: [],
};

/** A stretch of time in which windows hold the job; `end` is exclusive. ISO 8601, UTC. */
export interface PlannedPause {
  readonly start: string;
  readonly end: string;
  readonly reason: string | null;
}

/** The next pauses by the calendar, computed where zone data is at hand and recorded. */
export interface WindowPlan {
  readonly periods: readonly PlannedPause[];
  /** No pause but these begins before this instant. ISO 8601, UTC. */
  readonly plannedUntil: string;
}
