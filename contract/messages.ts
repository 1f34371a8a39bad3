/** Names that client, workflows and workers must spell alike. They are part of recorded histories. */

/** The workflow that takes one agent to its end. */
export const AGENT_JOB_WORKFLOW = 'agentJob';

/** The workflow that keeps the sandbox of a failed job for a while, and its signals. */
export const KEEP_SANDBOX_WORKFLOW = 'keepSandbox';
export const KEEP_SIGNAL = 'keep';
export const RELEASE_SIGNAL = 'release';

/** ID of the workflow that keeps the sandbox of a job. */
export function keeperId(jobId: string, runChainId: string): string {
  return `${jobId}/kept-${runChainId}`;
}

/** The workflow that delivers what a job's end left undelivered. */
export const LAST_EVENTS_WORKFLOW = 'deliverLastEvents';

/** Task queue of workflows and activities, unless `LONGHAUL_TASK_QUEUE` names another. */
export const DEFAULT_TASK_QUEUE = 'longhaul';

export const PAUSE_SIGNAL = 'pause';
export const RESUME_SIGNAL = 'resume';
/** Steps of recovery that a person may ask for; their requests are as that of `resume`. */
export const NUDGE_SIGNAL = 'nudge';
export const BOUNCE_SIGNAL = 'bounce';
export const RECREATE_SIGNAL = 'recreate';
/** Update: answers the question of a waiting agent. */
export const INPUT_UPDATE = 'provideInput';
/** Update: changes the settings of a live job. */
export const CONFIGURE_UPDATE = 'configure';
export const STATUS_QUERY = 'status';
/** What happened to the job lately; all of it is in the event log of the store. */
export const TIMELINE_QUERY = 'timeline';
export const SETTINGS_QUERY = 'settings';

/** `pause`: sets the manual hold, or that of the fleet. */
export interface PauseRequest {
  readonly by: string;
  readonly reason: string;
  /** @default 'manual' */
  readonly hold?: 'manual' | 'fleet';
  /** ISO 8601: the hold ends by itself. Without it, somebody has to resume. */
  readonly until?: string;
}

/**
 * `resume`: clears the manual, external and operator holds, and lets the job run until the end of the window
 * that holds it now. With `force` it clears every hold; with `hold: 'fleet'` that of the fleet and no other.
 */
export interface ResumeRequest {
  readonly by: string;
  readonly hold?: 'manual' | 'fleet';
  readonly force?: boolean;
}

/** `provideInput`. The update's ID is the input's: the same one twice is one input. */
export interface InputRequest {
  readonly by: string;
  readonly value: unknown;
}

export interface InputAccepted {
  readonly inputId: string;
}

/** `configure`: fields of the spec's settings as people write them; those that are absent stay as they are. */
export interface ConfigureRequest {
  readonly by: string;
  readonly changes: unknown;
}

/** Search attribute with the phase in which an open job rests: `scheduled`, `running` or `paused`. */
export const PHASE_ATTRIBUTE = 'LonghaulPhase';

/** All search attributes that a namespace must have, with their types. */
export const SEARCH_ATTRIBUTES = { [PHASE_ATTRIBUTE]: 'Keyword' } as const;
