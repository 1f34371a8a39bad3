/** What the outcomes of activities mean for the state of a job. Pure but for the state that is handed in. */

import type { CreateOutcome, PauseOutcome, ResumeOutcome, WatchOutcome } from '../../contract/activities.js';
import type { CheckpointSummary } from '../../contract/checkpoint.js';
import type { ErrorCode } from '../../contract/errors.js';
import { clearHolds, setHold } from './holds.js';
import { switchMeter } from './meter.js';
import { addReceipt, enterPhase, type JobSandbox, type JobState, warn } from './state.js';

/** A transition that keeps failing is given up after so many tries in a row. */
const MAX_TRIES = 3;
/** Wait before the second try; doubles with each further one. */
const FIRST_RETRY_MS = 10_000;
/** A pause that the sandbox did not follow is asked for again for ever, but ever more rarely. */
const MAX_RETRY_MS = 5 * 60_000;
/** Restarts of a stalled agent before the job fails; a changed checkpoint refills the budget. */
const MAX_BOUNCES = 2;

/** Why a job ends. `null` from the functions below: it goes on. */
export type End =
  | { readonly as: 'completed'; readonly result: unknown }
  | { readonly as: 'cancelled' }
  | {
      readonly as: 'failed';
      readonly code: ErrorCode;
      readonly message: string;
      readonly logs: string | null;
    };

export function failed(code: ErrorCode, message: string, logs: string | null = null): End {
  return { as: 'failed', code, message, logs };
}

export function applyCreated(state: JobState, outcome: CreateOutcome, now: string): void {
  state.sandbox = { id: outcome.sandboxId, state: 'starting', incarnation: 1, profile: outcome.profile };
  state.meter = switchMeter(state.meter, 'running', now);
  succeeded(state);
  if (outcome.adopted)
    warn(state, 'The answer to a create was lost; its sandbox was found by its labels and adopted.');
}

export function applyWatched(
  state: JobState,
  sandbox: JobSandbox,
  outcome: WatchOutcome,
  now: string,
): End | null {
  state.cursor = outcome.cursor;
  switch (outcome.kind) {
    case 'slice-over':
      return null;
    case 'ready':
      becomeReady(state, sandbox, now);
      return null;
    case 'done': {
      becomeReady(state, sandbox, now);
      if (outcome.resultOmittedBytes !== null) {
        warn(
          state,
          `The result has ${outcome.resultOmittedBytes} bytes, too many to be kept in the history; it was left out.`,
        );
      }
      return { as: 'completed', result: outcome.result };
    }
    case 'agent-failed':
      return failed('AGENT_FAILED', outcome.message, outcome.logs);
    case 'paused-outside':
      sandbox.state = 'paused';
      state.holds = setHold(state.holds, {
        kind: 'external',
        by: 'unknown',
        reason: 'the sandbox was paused from outside',
        since: now,
        until: null,
      });
      state.lastPause = { checkpoint: outcome.cursor.checkpoint };
      state.meter = switchMeter(state.meter, 'paused', now);
      enterPhase(state, 'paused', now);
      return null;
    case 'lost':
      return failed('SANDBOX_LOST', outcome.message);
    case 'exited':
      return failed('AGENT_EXITED', outcome.message, outcome.logs);
    case 'stalled':
      return bounceOrFail(state, outcome);
  }
}

export function applyPaused(
  state: JobState,
  sandbox: JobSandbox,
  outcome: PauseOutcome,
  now: string,
): End | null {
  switch (outcome.kind) {
    case 'paused': {
      const checkpoint = outcome.checkpoint ?? state.cursor?.checkpoint ?? null;
      sandbox.state = 'paused';
      state.lastPause = { checkpoint };
      // What the watch last saw went with it; this is as new.
      if (state.cursor !== null) state.cursor = { ...state.cursor, checkpoint };
      state.openResume = null;
      state.meter = switchMeter(state.meter, 'paused', outcome.observedAt);
      addReceipt(state, {
        kind: 'pause',
        incarnation: sandbox.incarnation,
        cause: state.holds.map((hold) => hold.kind),
        requestedAt: outcome.requestedAt,
        observedAt: outcome.observedAt,
        readyAt: null,
        before: checkpoint,
        after: null,
        regressed: false,
      });
      state.bouncing = false;
      succeeded(state);
      enterPhase(state, 'paused', now);
      return null;
    }
    case 'unsupported':
      state.pauseUnsupported = true;
      warn(state, `This deployment cannot pause the sandbox, so the job runs on: ${outcome.message}`);
      return state.bouncing
        ? failed('AGENT_STALLED', `The agent stalled and cannot be restarted: ${outcome.message}`)
        : null;
    case 'still-running':
      tryAgainLater(state, now);
      warn(state, `A pause was not carried out and will be tried again: ${outcome.message}`);
      return null;
    case 'exited':
      return failed('AGENT_EXITED', outcome.message, outcome.logs);
    case 'lost':
      return failed('SANDBOX_LOST', outcome.message);
  }
}

export function applyResumed(
  state: JobState,
  sandbox: JobSandbox,
  outcome: ResumeOutcome,
  now: string,
): End | null {
  switch (outcome.kind) {
    case 'running':
      sandbox.state = 'starting';
      sandbox.incarnation += 1;
      sandbox.profile = outcome.profile;
      state.holds = clearHolds(state.holds, ['external']);
      state.openResume = { requestedAt: outcome.requestedAt, observedAt: outcome.observedAt };
      state.meter = switchMeter(state.meter, 'running', outcome.observedAt);
      // The new process has the whole of `stallAfter` to answer: the clock of the old one does not count.
      if (state.cursor !== null) state.cursor = { ...state.cursor, unchangedSince: now, unreadableReads: 0 };
      succeeded(state);
      return null;
    case 'not-resumed':
      tryAgainLater(state, now);
      return state.failuresInARow >= MAX_TRIES ? failed('RESUME_FAILED', outcome.message) : null;
    case 'exited':
      return failed('AGENT_EXITED', outcome.message, outcome.logs);
    case 'lost':
      return failed('SANDBOX_LOST', outcome.message);
  }
}

/** The sandbox did not start although the API answered. Tried again, boundedly. */
export function applyStartFailed(state: JobState, message: string, now: string): End | null {
  tryAgainLater(state, now);
  warn(state, `The sandbox did not start: ${message}`);
  return state.failuresInARow >= MAX_TRIES ? failed('SANDBOX_START_FAILED', message) : null;
}

function becomeReady(state: JobState, sandbox: JobSandbox, now: string): void {
  enterPhase(state, 'running', now);
  if (sandbox.state === 'running') return;
  sandbox.state = 'running';
  if (state.openResume === null) return;
  const before = state.lastPause?.checkpoint ?? null;
  const after = state.cursor?.checkpoint ?? null;
  const regressed = isBehind(after, before);
  addReceipt(state, {
    kind: 'resume',
    incarnation: sandbox.incarnation,
    cause: [],
    requestedAt: state.openResume.requestedAt,
    observedAt: state.openResume.observedAt,
    readyAt: after?.readAt ?? now,
    before,
    after,
    regressed,
  });
  state.openResume = null;
  if (regressed) {
    warn(
      state,
      `Work was lost over the pause: the agent was at ${place(before)} and came back at ${place(after)}.`,
    );
  }
}

/** The later checkpoint stands before the earlier one: by step, or by progress where there are no steps. */
function isBehind(later: CheckpointSummary | null, earlier: CheckpointSummary | null): boolean {
  if (later === null || earlier === null) return false;
  if (later.step !== null && earlier.step !== null) return later.step < earlier.step;
  return later.progress !== null && earlier.progress !== null && later.progress < earlier.progress;
}

function place(checkpoint: CheckpointSummary | null): string {
  if (checkpoint?.step != null) return `step ${checkpoint.step}`;
  return checkpoint?.progress != null ? `${Math.round(checkpoint.progress * 100)} %` : 'an unknown step';
}

function bounceOrFail(state: JobState, stall: Extract<WatchOutcome, { kind: 'stalled' }>): End | null {
  const digest = stall.cursor.checkpoint?.digest ?? null;
  const before = state.bounces.digest === digest ? state.bounces.withoutProgress : 0;
  if (before >= MAX_BOUNCES || state.pauseUnsupported) {
    const code = stall.why === 'unreadable' ? 'CHECKPOINT_UNREADABLE' : 'AGENT_STALLED';
    return failed(
      code,
      `${stall.message} The agent was restarted ${before} times without progress.`,
      stall.logs,
    );
  }
  state.bounces = { withoutProgress: before + 1, digest };
  state.restarts += 1;
  state.bouncing = true;
  warn(state, `${stall.message} The agent was restarted.`);
  return null;
}

function tryAgainLater(state: JobState, now: string): void {
  const waitMs = Math.min(FIRST_RETRY_MS * 2 ** state.failuresInARow, MAX_RETRY_MS);
  state.failuresInARow += 1;
  state.retryAt = new Date(Date.parse(now) + waitMs).toISOString();
}

function succeeded(state: JobState): void {
  state.failuresInARow = 0;
  state.retryAt = null;
}
