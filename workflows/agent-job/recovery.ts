/**
 * The ladder that a job climbs when its agent is stuck or its sandbox is gone: nudge, bounce (pause and resume:
 * a new process, the same workspace), recreate (a new sandbox, the workspace from the last snapshot), and then
 * park it for a person, or fail. Progress takes it back to the ground, so an agent that gets on is not punished
 * and one that dies without progress stops.
 */

import { type End, failed } from './end.js';
import { putHold } from './holds.js';
import { type Ladder, ON_THE_GROUND, type Remedy } from './ladder.js';
import { addWaste } from './meter.js';
import { type JobState, warn } from './state.js';
import { record } from './timeline.js';

const MAX_NUDGES = 1;
const MAX_BOUNCES = 2;
const MAX_RECREATIONS = 2;

/** What is wrong, with the code under which the job would fail. */
export interface Trouble {
  readonly kind: 'stuck' | 'exited' | 'lost';
  readonly code:
    | 'AGENT_STALLED'
    | 'CHECKPOINT_UNREADABLE'
    | 'AGENT_EXITED'
    | 'SANDBOX_LOST'
    | 'RESUME_FAILED';
  readonly message: string;
  readonly logs: string | null;
}

/** Decides the next step of the ladder. @returns why the job ends, where none is left. */
export function climb(state: JobState, jobId: string, trouble: Trouble, now: string): End | null {
  const { recovery, cursor } = state;
  const digest = cursor?.checkpoint?.digest ?? null;
  const ladder = state.ladder.digest === digest ? state.ladder : { ...ON_THE_GROUND, digest };
  if (cursor !== null) state.meter = addWaste(state.meter, cursor.unchangedSince, now);
  const step = (taken: Partial<Ladder>, remedy: Remedy, did: string): null => {
    state.ladder = { ...ladder, ...taken };
    state.remedy = remedy;
    warn(state, `${trouble.message} ${did}`);
    record(state, 'restart', `${trouble.message} ${did}`, now);
    return null;
  };

  if (trouble.kind === 'stuck') {
    if (state.canNudge && ladder.nudges < MAX_NUDGES) {
      // It has the whole of `stallAfter` again to show progress.
      if (cursor !== null) state.cursor = { ...cursor, unchangedSince: now, unreadableReads: 0 };
      return step({ nudges: ladder.nudges + 1 }, { kind: 'nudge' }, 'The agent was nudged.');
    }
    if (ladder.bounces < MAX_BOUNCES && !state.pauseUnsupported) {
      state.restarts += 1;
      return step({ bounces: ladder.bounces + 1 }, { kind: 'bounce' }, 'The agent was restarted.');
    }
  }
  if (recovery.onLost === 'recreate' && ladder.recreations < MAX_RECREATIONS) {
    state.restarts += 1;
    return step({ recreations: ladder.recreations + 1 }, { kind: 'recreate' }, recreationOf(state));
  }
  return giveUp(state, jobId, trouble, ladder, now);
}

function recreationOf({ snapshot }: JobState): string {
  if (snapshot === null) return 'A new sandbox starts from the beginning: there is no snapshot.';
  const step = snapshot.step === null ? '' : ` at step ${snapshot.step}`;
  return `A new sandbox starts from the snapshot of ${snapshot.takenAt}${step}.`;
}

function giveUp(
  state: JobState,
  jobId: string,
  { kind, code, message, logs }: Trouble,
  ladder: Ladder,
  now: string,
): End | null {
  const restarts = ladder.bounces + ladder.recreations;
  const summary =
    restarts === 0 ? message : `${message} The agent was restarted ${restarts} times without progress.`;
  // Without any checkpoint there is nothing worth keeping, and a sandbox that is gone cannot be parked.
  if (kind !== 'stuck' || state.recovery.onStuck === 'fail' || ladder.digest === null)
    return failed(code, summary, logs);
  state.ladder = ON_THE_GROUND;
  state.parked = true;
  state.remedy = null;
  record(state, 'parked', summary, now, `longhaul resume ${jobId}`);
  putHold(state, { kind: 'operator', by: 'longhaul', reason: summary, since: now, until: null }, now);
  return null;
}
