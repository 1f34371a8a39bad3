/** What all parts of one job's workflow share. */

import type { Ownership } from '../../contract/activities.js';
import type { AgentJobInput } from '../../contract/job-input.js';
import type { JobSpec } from '../../contract/job-spec.js';
import type { JobState } from './state.js';

export interface Job {
  readonly id: string;
  readonly owner: Ownership;
  readonly input: AgentJobInput;
  readonly spec: JobSpec;
  readonly state: JobState;
}

/** The workflow's time: the same in every replay. ISO 8601, UTC. */
export function now(): string {
  return new Date().toISOString();
}
