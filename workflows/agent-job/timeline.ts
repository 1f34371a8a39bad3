/** Writes down what happens to a job. Kept here are the latest events; all of them go to the event log of the store. */

import type { Phase } from '../../contract/status.js';
import type { JobEvent, JobEventName } from '../../contract/timeline.js';
import type { JobState } from './state.js';

export interface Timeline {
  readonly lastSeq: number;
  readonly events: readonly JobEvent[];
  /** The event log has all up to this one. */
  readonly recordedThrough: number;
}

/** Enough for a status of some days; the rest is in the event log. */
const EVENTS_KEPT = 100;
/** Where the event log cannot be written for long, the oldest events are given up. */
const UNRECORDED_KEPT = 500;

export function newTimeline(): Timeline {
  return { lastSeq: 0, events: [], recordedThrough: 0 };
}

/** @param answerWith the command with which a person can answer. */
export function record(
  state: JobState,
  event: JobEventName,
  cause: string,
  now: string,
  answerWith: string | null = null,
): void {
  const { timeline, phase } = state;
  const seq = timeline.lastSeq + 1;
  const checkpoint = state.cursor?.checkpoint ?? null;
  const entry: JobEvent = {
    seq,
    event,
    at: now,
    phase,
    cause,
    checkpoint: checkpoint === null ? null : { step: checkpoint.step, progress: checkpoint.progress },
    answerWith,
  };
  const unrecorded = seq - timeline.recordedThrough;
  const kept = Math.min(Math.max(EVENTS_KEPT, unrecorded), UNRECORDED_KEPT);
  state.timeline = { ...timeline, lastSeq: seq, events: [...timeline.events, entry].slice(-kept) };
}

/** Phases in which a job rests need a reason; those on the way to them are told by the same one. */
export function enterPhase(
  state: JobState,
  phase: Exclude<Phase, 'scheduled'>,
  cause: string,
  now: string,
  answerWith: string | null = null,
): void {
  if (state.phase === phase) return;
  state.phase = phase;
  state.phaseSince = now;
  record(state, phase, cause, now, answerWith);
}

export function unrecordedEvents({ timeline }: JobState): readonly JobEvent[] {
  return timeline.events.filter(({ seq }) => seq > timeline.recordedThrough);
}

export function markRecorded(state: JobState, through: number): void {
  state.timeline = { ...state.timeline, recordedThrough: through };
}
