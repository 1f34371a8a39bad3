/**
 * All that a job knows of itself. It is plain JSON, since it travels through continue-as-new,
 * and it is changed only by the functions beside it.
 */

import type { WatchCursor, WatchProfile } from '../../contract/activities.js';
import type { CheckpointSummary } from '../../contract/checkpoint.js';
import {
  DEFAULT_SETTINGS,
  type JobSettings,
  type LimitName,
  type WindowPlan,
} from '../../contract/job-settings.js';
import type { JobSpec, RecoverySpec } from '../../contract/job-spec.js';
import type { Artifact, Hold, JobFailure, Phase, Receipt, SnapshotRef } from '../../contract/status.js';
import { type Ladder, ON_THE_GROUND, type Remedy } from './ladder.js';
import { type Meter, newMeter } from './meter.js';
import { newTimeline, type Timeline } from './timeline.js';
import type { AgentWait, Answer } from './waits.js';
import { spreadOf } from './windows.js';

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
  settings: JobSettings;
  holds: Hold[];
  /** The next pauses by the calendar; `null` until they were computed. */
  plan: WindowPlan | null;
  /** Where this job stands among those that share its windows: 0 to 1. */
  readonly spread: number;
  /** The windows do not hold the job before this time, since somebody resumed it in one. */
  overrideUntil: string | null;
  /** Limits that somebody let the job pass, and limits whose coming was told. */
  waived: LimitName[];
  warnedOf: LimitName[];
  /** What the agent waits for. */
  wait: AgentWait | null;
  /** An answer that the agent has not yet taken. */
  answer: Answer | null;
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
  timeline: Timeline;
  /** For each URL of `notify`: the last event that needs not be delivered to it any more. */
  deliveredThrough: Record<string, number>;
  meter: Meter;
  restarts: number;
  readonly recovery: RecoverySpec;
  readonly canNudge: boolean;
  ladder: Ladder;
  /** The step of recovery that is due. */
  remedy: Remedy | null;
  /** The operator hold waits for a person, not for the API. */
  parked: boolean;
  /** How often the agent's process has been started. */
  starts: number;
  snapshot: SnapshotRef | null;
  snapshotTriedAt: string | null;
  /** A sandbox that was made anew has not answered yet; its agent is compared with this checkpoint. */
  openRebuild: { before: CheckpointSummary | null } | null;
  artifacts: readonly Artifact[];
  kept: { readonly sandboxId: string; readonly until: string } | null;
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

export function newJobState(jobId: string, spec: JobSpec, now: string): JobState {
  return {
    startedAt: now,
    endedAt: null,
    phase: 'scheduled',
    phaseSince: now,
    shownPhase: 'scheduled',
    settings: spec.settings ?? DEFAULT_SETTINGS,
    holds: [],
    plan: null,
    spread: spreadOf(jobId),
    overrideUntil: null,
    waived: [],
    warnedOf: [],
    wait: null,
    answer: null,
    sandbox: null,
    epoch: 0,
    cursor: null,
    lastPause: null,
    openResume: null,
    receipts: [],
    timeline: newTimeline(),
    deliveredThrough: {},
    meter: newMeter(now),
    restarts: 0,
    recovery: spec.recovery ?? { onLost: 'fail', onStuck: 'fail' },
    canNudge: spec.nudge != null,
    ladder: ON_THE_GROUND,
    remedy: null,
    parked: false,
    starts: 0,
    snapshot: null,
    snapshotTriedAt: null,
    openRebuild: null,
    artifacts: [],
    kept: null,
    failuresInARow: 0,
    retryAt: null,
    pauseUnsupported: false,
    warnings: [],
    result: null,
    failure: null,
  };
}

export function addReceipt(state: JobState, receipt: Receipt): void {
  state.receipts = [...state.receipts, receipt].slice(-RECEIPTS_KEPT);
}

export function warn(state: JobState, warning: string): void {
  state.warnings = [...state.warnings.filter((known) => known !== warning), warning].slice(-WARNINGS_KEPT);
}
