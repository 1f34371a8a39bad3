/** Names that client, workflows and workers must spell alike. They are part of recorded histories. */

/** The workflow that takes one agent to its end. */
export const AGENT_JOB_WORKFLOW = 'agentJob';

/** Task queue of workflows and activities, unless `LONGHAUL_TASK_QUEUE` names another. */
export const DEFAULT_TASK_QUEUE = 'longhaul';

export const PAUSE_SIGNAL = 'pause';
export const RESUME_SIGNAL = 'resume';
export const STATUS_QUERY = 'status';

/** `pause`: sets the manual hold. */
export interface PauseRequest {
  readonly by: string;
  readonly reason: string;
}

/** `resume`: clears the manual, external and operator holds. */
export interface ResumeRequest {
  readonly by: string;
}

/** Search attribute with the phase in which an open job rests: `scheduled`, `running` or `paused`. */
export const PHASE_ATTRIBUTE = 'LonghaulPhase';

/** All search attributes that a namespace must have, with their types. */
export const SEARCH_ATTRIBUTES = { [PHASE_ATTRIBUTE]: 'Keyword' } as const;
