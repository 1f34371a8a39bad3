/**
 * All that a job knows of itself. It is plain JSON, since it travels through continue-as-new,
 * and it is changed only by the functions beside it.
 */

import type { WatchCursor, WatchProfile } from '../../contract/activities.js';
import type { CheckpointSummary } from '../../contract/checkpoint.js';
import type { Hold, JobFailure, Phase, Receipt } from '../../contract/status.js';
import { type Meter, newMeter } from './meter.js';

export interface JobSandbox {
  readonly id: string;
  /** `starting`: it runs, but its agent has not yet given a good answer. */
  state: 'starting' | 'running' | 'paused' | 'deleted';
  incarnation: number;
  profile: WatchProfile;
}

export interface JobState {
  readonly startedAt: string;
  endedAt: string | null;
  phase: Phase;
  phaseSince: string;
  /** The phase that the search attribute shows. */
  shownPhase: Phase;
  holds: Hold[];
  sandbox: JobSandbox | null;
  /** How many creates were begun: the fence between a lost create and the next. */
  epoch: number;
  /** Where the next watch goes on. */
  cursor: WatchCursor | null;
  /** The pause that a resume will be compared with. */
  lastPause: { checkpoint: CheckpointSummary | null } | null;
  /** A resume that waits for the agent's first good answer. */
  openResume: { requestedAt: string; observedAt: string } | null;
  receipts: Receipt[];
  meter: Meter;
  restarts: number;
  /** Bounces since the checkpoint last changed, and the digest that they did not change. */
  bounces: { withoutProgress: number; digest: string | null };
  /** The sandbox is to be paused and resumed at once, to give the agent a new start. */
  bouncing: boolean;
  /** Failures in a row of the transition that is due; reset when it succeeds. */
  failuresInARow: number;
  /** No transition before this time; `null` when nothing has to be waited for. */
  retryAt: string | null;
  pauseUnsupported: boolean;
  warnings: string[];
  result: unknown;
  failure: JobFailure | null;
}

/** Receipts and warnings that a status shows; older ones are dropped to bound the state. */
const RECEIPTS_KEPT = 20;
const WARNINGS_KEPT = 10;

export function newJobState(now: string): JobState {
  return {
    startedAt: now,
    endedAt: null,
    phase: 'scheduled',
    phaseSince: now,
    shownPhase: 'scheduled',
    holds: [],
    sandbox: null,
    epoch: 0,
    cursor: null,
    lastPause: null,
    openResume: null,
    receipts: [],
    meter: newMeter(now),
    restarts: 0,
    bounces: { withoutProgress: 0, digest: null },
    bouncing: false,
    failuresInARow: 0,
    retryAt: null,
    pauseUnsupported: false,
    warnings: [],
    result: null,
    failure: null,
  };
}

export function enterPhase(state: JobState, phase: Phase, now: string): void {
  if (state.phase === phase) return;
  state.phase = phase;
  state.phaseSince = now;
}

export function addReceipt(state: JobState, receipt: Receipt): void {
  state.receipts = [...state.receipts, receipt].slice(-RECEIPTS_KEPT);
}

export function warn(state: JobState, warning: string): void {
  state.warnings = [...state.warnings.filter((known) => known !== warning), warning].slice(-WARNINGS_KEPT);
}
