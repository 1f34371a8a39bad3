/** What happened to a job, one entry each: the timeline, the webhooks and the event log are made of these. */

import type { Phase } from './status.js';

/** The first ten are phases entered; the others happen within a phase. */
export const JOB_EVENT_NAMES = [
  'provisioning',
  'running',
  'draining',
  'pausing',
  'paused',
  'resuming',
  'collecting',
  'completed',
  'failed',
  'cancelled',
  'hold-set',
  'hold-cleared',
  'question',
  'input-accepted',
  'input-delivered',
  'limit-warning',
  'limit-reached',
  'configured',
  'work-lost',
  'restart',
  'snapshot',
  'parked',
  'warning',
] as const;

export type JobEventName = (typeof JOB_EVENT_NAMES)[number];

export interface JobEvent {
  /** Counts from 1 within the job, over continue-as-new: with the job's run chain it names the event. */
  readonly seq: number;
  readonly event: JobEventName;
  /** ISO 8601, UTC. */
  readonly at: string;
  /** The phase in which the job was after it. */
  readonly phase: Phase;
  /** In words: why it happened. */
  readonly cause: string;
  /** The last checkpoint at that time. */
  readonly checkpoint: { readonly step: number | null; readonly progress: number | null } | null;
  /** The command with which a person can answer, e.g. `longhaul input JOB --json '…'`; `null` where none is needed. */
  readonly answerWith: string | null;
}
