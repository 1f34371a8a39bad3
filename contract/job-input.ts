/** The argument of the workflow `agentJob`. */

import type { JobSpec } from './job-spec.js';

export interface AgentJobInput {
  readonly spec: JobSpec;
  /** State of the run before, over continue-as-new; only the workflow itself sets and reads it. */
  readonly carried?: unknown;
  /** Continue as new at this history length instead of the server's suggestion; for tests. */
  readonly continueAsNewAfterEvents?: number;
}
