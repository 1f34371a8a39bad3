/** What the outcomes of transitions mean for the state of a job. Pure but for the state that is handed in. */

import type {
  CreateOutcome,
  DeliverInputOutcome,
  PauseOutcome,
  ResumeOutcome,
} from '../../contract/activities.js';
import { type End, failed } from './end.js';
import { causeOf, clearHold } from './holds.js';
import { switchMeter } from './meter.js';
import { climb, type Trouble } from './recovery.js';
import { addReceipt, type JobSandbox, type JobState, warn } from './state.js';
import { enterPhase, record } from './timeline.js';
import { answerCommand, deliverLater, markDelivered, rejectAnswer } from './waits.js';

/** A transition that keeps failing is given up after so many tries in a row. */
const MAX_TRIES = 3;
/** Wait before the second try; doubles with each further one. */
const FIRST_RETRY_MS = 10_000;
/** A pause that the sandbox did not follow is asked for again for ever, but ever more rarely. */
const MAX_RETRY_MS = 5 * 60_000;

export function applyCreated(state: JobState, outcome: CreateOutcome, now: string): JobSandbox {
  state.starts += 1;
  const sandbox: JobSandbox = {
    id: outcome.sandboxId,
    state: 'starting',
    incarnation: state.starts,
    profile: outcome.profile,
  };
  state.sandbox = sandbox;
  state.meter = switchMeter(state.meter, 'running', now);
  succeeded(state);
  if (outcome.adopted)
    warn(state, 'The answer to a create was lost; its sandbox was found by its labels and adopted.');
  return sandbox;
}

export function applyPaused(
  state: JobState,
  jobId: string,
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
        drain: outcome.drain ?? null,
        evidence: outcome.evidence ?? [],
      });
      if (outcome.drain != null && outcome.drain.kind !== 'drained') {
        const warning = `The agent was paused without a drain: ${outcome.drain.detail}`;
        warn(state, warning);
        record(state, 'warning', warning, now);
      }
      const cause = causeOfPause(state);
      if (state.remedy?.kind === 'bounce') state.remedy = null;
      if (outcome.snapshot != null) state.snapshot = outcome.snapshot;
      succeeded(state);
      enterPhase(state, 'paused', cause, now, commandAfter(state, jobId));
      return null;
    }
    case 'unsupported':
      state.pauseUnsupported = true;
      tell(state, `This deployment cannot pause the sandbox, so the job runs on: ${outcome.message}`, now);
      if (state.remedy?.kind !== 'bounce') return null;
      state.remedy = null;
      return climb(
        state,
        jobId,
        stuck(`The agent stalled and cannot be restarted by a pause: ${outcome.message}`),
        now,
      );
    case 'still-running':
      tryAgainLater(state, now);
      tell(state, `A pause was not carried out and will be tried again: ${outcome.message}`, now);
      return null;
    case 'exited':
    case 'lost':
      return climb(state, jobId, goneBy(outcome), now);
  }
}

export function applyResumed(
  state: JobState,
  jobId: string,
  sandbox: JobSandbox,
  outcome: ResumeOutcome,
  now: string,
): End | null {
  switch (outcome.kind) {
    case 'running':
      sandbox.state = 'starting';
      state.starts += 1;
      sandbox.incarnation = state.starts;
      sandbox.profile = outcome.profile;
      clearHold(state, 'external', 'the sandbox runs again', now);
      state.openResume = { requestedAt: outcome.requestedAt, observedAt: outcome.observedAt };
      state.meter = switchMeter(state.meter, 'running', outcome.observedAt);
      // The new process has the whole of `stallAfter` to answer: the clock of the old one does not count.
      if (state.cursor !== null) state.cursor = { ...state.cursor, unchangedSince: now, unreadableReads: 0 };
      succeeded(state);
      return null;
    case 'not-resumed':
      tryAgainLater(state, now);
      if (state.failuresInARow < MAX_TRIES) return null;
      return climb(
        state,
        jobId,
        { kind: 'lost', code: 'RESUME_FAILED', message: outcome.message, logs: null },
        now,
      );
    case 'exited':
    case 'lost':
      return climb(state, jobId, goneBy(outcome), now);
  }
}

/** The sandbox is given up; the next create is a new one. */
export function applyDiscarded(state: JobState, now: string): void {
  state.openRebuild = { before: state.cursor?.checkpoint ?? state.lastPause?.checkpoint ?? null };
  state.openResume = null;
  state.sandbox = null;
  state.remedy = null;
  state.pauseUnsupported = false;
  // The new one has the whole of `stallAfter` to answer.
  if (state.cursor !== null) state.cursor = { ...state.cursor, unchangedSince: now, unreadableReads: 0 };
  clearHold(state, 'external', 'the sandbox was given up', now);
  state.meter = switchMeter(state.meter, null, now);
  succeeded(state);
}

/** The workspace could not be put back: this sandbox is of no use. */
export function applyNotRestored(state: JobState, jobId: string, why: string, now: string): End | null {
  const message = `The workspace was not restored from its snapshot: ${why}`;
  return climb(state, jobId, { kind: 'lost', code: 'SANDBOX_LOST', message, logs: null }, now);
}

/** The sandbox did not start although the API answered. Tried again, boundedly. */
export function applyStartFailed(state: JobState, message: string, now: string): End | null {
  tryAgainLater(state, now);
  tell(state, `The sandbox did not start: ${message}`, now);
  return state.failuresInARow >= MAX_TRIES ? failed('SANDBOX_START_FAILED', message) : null;
}

export function applyDelivered(
  state: JobState,
  jobId: string,
  outcome: DeliverInputOutcome,
  now: string,
): void {
  switch (outcome.kind) {
    case 'delivered':
      markDelivered(state, now);
      break;
    case 'refused':
      rejectAnswer(state, jobId, outcome.message, now);
      break;
    case 'no-answer':
      deliverLater(state, now);
      break;
  }
}

/** The command that ends a pause, where a person has to. */
function commandAfter({ holds }: JobState, jobId: string): string | null {
  if (holds.some(({ kind }) => kind === 'input')) return answerCommand(jobId);
  if (holds.some(({ kind }) => kind === 'budget')) return `longhaul configure ${jobId} --file job.yaml`;
  return holds.length === 0 ? null : `longhaul resume ${jobId}`;
}

function tell(state: JobState, warning: string, now: string): void {
  warn(state, warning);
  record(state, 'warning', warning, now);
}

/** Why the sandbox is paused, in words. */
export function causeOfPause(state: JobState): string {
  return state.remedy?.kind === 'bounce' ? 'to start the agent anew' : causeOf(state.holds);
}

/** The trouble of an outcome that says that the sandbox or its process is gone. */
export function goneBy(
  outcome:
    | { readonly kind: 'exited'; readonly message: string; readonly logs: string | null }
    | { readonly kind: 'lost'; readonly message: string },
): Trouble {
  return outcome.kind === 'exited'
    ? { kind: 'exited', code: 'AGENT_EXITED', message: outcome.message, logs: outcome.logs }
    : { kind: 'lost', code: 'SANDBOX_LOST', message: outcome.message, logs: null };
}

function stuck(message: string): Trouble {
  return { kind: 'stuck', code: 'AGENT_STALLED', message, logs: null };
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
