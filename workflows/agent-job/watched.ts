/** What the outcomes of a watch mean for the state of a job. Pure but for the state that is handed in. */

import type { WatchOutcome } from '../../contract/activities.js';
import type { CheckpointSummary } from '../../contract/checkpoint.js';
import { type End, failed } from './end.js';
import { putHold } from './holds.js';
import { switchMeter } from './meter.js';
import { goneBy } from './outcomes.js';
import { climb } from './recovery.js';
import { addReceipt, type JobSandbox, type JobState, warn } from './state.js';
import { enterPhase, record } from './timeline.js';
import { beginInputWait, beginSleep, endWait } from './waits.js';

export function applyWatched(
  state: JobState,
  jobId: string,
  sandbox: JobSandbox,
  outcome: WatchOutcome,
  now: string,
): End | null {
  state.cursor = outcome.cursor;
  switch (outcome.kind) {
    case 'slice-over':
      return null;
    case 'ready':
      return becomeReady(state, sandbox, now);
    case 'agent-waits':
      beginInputWait(state, jobId, outcome.waitKey, outcome.question, now);
      return null;
    case 'agent-sleeps':
      beginSleep(state, outcome.waitKey, outcome.wakeAt, now);
      return null;
    case 'agent-works':
      endWait(state, now);
      return null;
    case 'done': {
      const lost = becomeReady(state, sandbox, now);
      if (lost !== null) return lost;
      endWait(state, now);
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
    case 'paused-outside': {
      const reason = 'the sandbox was paused from outside';
      sandbox.state = 'paused';
      state.lastPause = { checkpoint: outcome.cursor.checkpoint };
      state.meter = switchMeter(state.meter, 'paused', now);
      enterPhase(state, 'paused', reason, now, `longhaul resume ${jobId}`);
      putHold(state, { kind: 'external', by: 'unknown', reason, since: now, until: null }, now);
      return null;
    }
    case 'lost':
    case 'exited':
      return climb(state, jobId, goneBy(outcome), now);
    case 'stalled': {
      const code = outcome.why === 'unreadable' ? 'CHECKPOINT_UNREADABLE' : 'AGENT_STALLED';
      return climb(state, jobId, { kind: 'stuck', code, message: outcome.message, logs: outcome.logs }, now);
    }
  }
}

/** The agent gave its first good answer since it was started; after a resume it is compared with the pause. */
function becomeReady(state: JobState, sandbox: JobSandbox, now: string): End | null {
  const resumed = state.openResume !== null;
  enterPhase(state, 'running', resumed ? 'the agent answers again' : 'the agent answers', now);
  if (sandbox.state === 'running') return null;
  sandbox.state = 'running';
  if (state.openRebuild !== null) tellLoss(state, now);
  if (state.openResume === null) return null;
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
    drain: null,
    evidence: [],
  });
  state.openResume = null;
  if (!regressed) return null;
  const message = `Work was lost over the pause: the agent was at ${place(before)} and came back at ${place(after)}.`;
  warn(state, message);
  record(state, 'work-lost', message, now);
  return state.settings.onRegression === 'fail' ? failed('WORK_LOST', message) : null;
}

/** A sandbox that was made anew: what was done after the snapshot is lost, and said to be. */
function tellLoss(state: JobState, now: string): void {
  const before = state.openRebuild?.before ?? null;
  const after = state.cursor?.checkpoint ?? null;
  state.openRebuild = null;
  if (!isBehind(after, before)) return;
  const message = `Work was lost with the sandbox: the agent was at ${place(before)} and goes on at ${place(after)}.`;
  warn(state, message);
  record(state, 'work-lost', message, now);
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
