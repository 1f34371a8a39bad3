/** How many items may start now, and what an end means for those to come. Pure but for the state handed in. */

import type { BatchRound, EndsReport, StopRule } from '../../contract/batch.js';
import { parsePositions } from '../../contract/batch-positions.js';
import type { ErrorCode } from '../../contract/errors.js';
import { countEnds } from './pace.js';
import type { BatchState } from './state.js';

/** Started by one activity: large enough to be cheap, small enough to be over in a second or two. */
const START_CHUNK = 100;
/** A slower chunk would keep a pause waiting. */
const CHUNK_SECONDS = 5;
/** In flight until the first job runs: so many at most find out that an image cannot be pulled. */
const UNPROVEN_JOBS = 10;
/** Failures at the start in a row, all of one cause, that open the breaker. */
const BREAKER_FAILURES = 10;
const FIRST_TRIAL_MS = 60_000;
const MAX_TRIAL_MS = 30 * 60_000;

/** Causes that the next item most likely meets, too. Where only a person can help, jobs are parked, not failed. */
const START_FAILURES: readonly ErrorCode[] = [
  'SANDBOX_REJECTED',
  'SANDBOX_START_FAILED',
  'SPEC_INVALID',
  'JOB_EXISTS',
];

/** Items that may be started at once, now. */
export function startable(state: BatchState, { total }: BatchRound, now: string): number {
  if (startsAreOver(state, total) || state.hold !== null) return 0;
  const left = total - state.next;
  if (state.breaker !== null) {
    const isDue = state.breaker.trial === null && state.breaker.nextTrialAt <= now;
    return isDue ? Math.min(1, left) : 0;
  }
  const { concurrency, ratePerSecond } = state.policy;
  const limit = state.hasProof ? concurrency : Math.min(concurrency, UNPROVEN_JOBS);
  const chunk =
    ratePerSecond === null
      ? START_CHUNK
      : Math.max(1, Math.min(START_CHUNK, Math.floor(ratePerSecond * CHUNK_SECONDS)));
  return Math.max(0, Math.min(limit - state.inFlight.size, left, chunk));
}

/** No item will be started any more, unless somebody changes the policy. */
export function startsAreOver(state: BatchState, total: number): boolean {
  return state.cancelRequested || state.next >= total || isStopped(state, total);
}

export function isStopped({ policy: { stopAfter }, failed }: BatchState, total: number): boolean {
  return stopAfter !== null && failed >= failuresAllowed(stopAfter, total);
}

function failuresAllowed(rule: StopRule, total: number): number {
  return 'failures' in rule ? rule.failures : Math.max(1, Math.ceil((rule.percent / 100) * total));
}

/** Time until the breaker lets the next trial through; `null` where none is awaited. */
export function trialInMs(state: BatchState, total: number, now: string): number | null {
  const { breaker } = state;
  if (breaker === null || breaker.trial !== null || state.hold !== null || startsAreOver(state, total)) {
    return null;
  }
  const waitMs = Date.parse(breaker.nextTrialAt) - Date.parse(now);
  return waitMs > 0 ? waitMs : null;
}

/** The jobs of which one that runs is good news. */
export function awaitedToRun(state: BatchState): number[] {
  if (state.breaker !== null) return state.breaker.trial === null ? [] : [state.breaker.trial];
  return state.hasProof ? [] : [...state.inFlight];
}

/** @param trials that were awaited when the news was got. */
export function applyRunning(state: BatchState, trials: readonly number[]): void {
  state.hasProof = true;
  if (state.breaker?.trial != null && trials.includes(state.breaker.trial)) closeBreaker(state);
}

export function closeBreaker(state: BatchState): void {
  state.breaker = null;
  state.streak = null;
}

export function applyEnds(state: BatchState, report: EndsReport, now: string): void {
  const completed = land(state, report.completed);
  const cancelled = land(state, report.cancelled);
  state.completed += completed.length;
  state.cancelled += cancelled.length;
  let ends = completed.length + cancelled.length;
  if (completed.length > 0) {
    state.hasProof = true;
    closeBreaker(state);
  }
  for (const { code, positions, example } of report.failed) {
    const failed = land(state, positions);
    if (failed.length === 0) continue;
    ends += failed.length;
    state.failed += failed.length;
    addCause(state, code, failed.length, example);
    if (completed.length === 0) countFailures(state, code, failed, example.message, now);
  }
  // A trial that somebody cancelled has shown nothing.
  if (state.breaker?.trial != null && cancelled.includes(state.breaker.trial)) state.breaker.trial = null;
  state.hours = {
    running: state.hours.running + report.hours.running,
    paused: state.hours.paused + report.hours.paused,
    provisioning: state.hours.provisioning + report.hours.provisioning,
    wasted: state.hours.wasted + report.hours.wasted,
  };
  state.sandboxes += report.sandboxes;
  if (ends > 0) state.pace = countEnds(state.pace, ends, now);
}

/** Takes them out of flight. @returns those that were in it. */
function land(state: BatchState, positions: string): number[] {
  return parsePositions(positions).filter((position) => state.inFlight.delete(position));
}

function addCause(
  state: BatchState,
  code: ErrorCode,
  count: number,
  example: EndsReport['failed'][number]['example'],
): void {
  const known = state.causes.find((cause) => cause.code === code);
  const others = state.causes.filter((cause) => cause !== known);
  state.causes = [
    ...others,
    { code, count: (known?.count ?? 0) + count, example: known?.example ?? example },
  ];
}

function countFailures(
  state: BatchState,
  code: ErrorCode,
  positions: readonly number[],
  message: string,
  now: string,
): void {
  const { breaker } = state;
  const isTrial = breaker?.trial != null && positions.includes(breaker.trial);
  if (!START_FAILURES.includes(code)) {
    // It did start, whatever became of it.
    state.hasProof = true;
    if (breaker === null || isTrial) closeBreaker(state);
    return;
  }
  const before = state.streak?.code === code ? state.streak.count : 0;
  state.streak = { code, count: before + positions.length };
  if (breaker === null) {
    if (state.streak.count < BREAKER_FAILURES) return;
    state.breaker = {
      code,
      message,
      failures: state.streak.count,
      since: now,
      nextTrialAt: later(now, FIRST_TRIAL_MS),
      trial: null,
      trials: 0,
    };
  } else {
    state.breaker = { ...breaker, failures: breaker.failures + positions.length };
    if (!isTrial) return;
    const waitMs = Math.min(FIRST_TRIAL_MS * 2 ** (breaker.trials + 1), MAX_TRIAL_MS);
    state.breaker = {
      ...state.breaker,
      trial: null,
      trials: breaker.trials + 1,
      nextTrialAt: later(now, waitMs),
    };
  }
}

function later(now: string, byMs: number): string {
  return new Date(Date.parse(now) + byMs).toISOString();
}
