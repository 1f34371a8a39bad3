/** Puts the events since the last time into the event log of the store. */

import { isCancellation } from '@temporalio/workflow';
import { recordEvents } from './activities.js';
import type { Job } from './job.js';
import { warn } from './state.js';
import { markRecorded, unrecordedEvents } from './timeline.js';

/** A log that cannot be written holds nothing up. */
export async function writeEventLog({ owner, spec, state }: Job): Promise<void> {
  // Histories of jobs that version 0.1.0 submitted have nothing of it.
  const events = spec.settings === undefined ? [] : unrecordedEvents(state);
  const last = events.at(-1);
  if (last === undefined) return;
  try {
    await recordEvents({ owner, events });
    markRecorded(state, last.seq);
  } catch (error) {
    if (isCancellation(error)) throw error;
    warn(state, 'The event log cannot be written; it is tried again at the next event.');
  }
}
