/** What anybody may ask of a job, and the answer in the words of the product. Times are ISO 8601 in UTC. */

import type { CheckpointSummary } from './checkpoint.js';
import type { ErrorCode } from './errors.js';

export type Phase =
  | 'scheduled'
  | 'provisioning'
  | 'running'
  | 'draining'
  | 'pausing'
  | 'paused'
  | 'resuming'
  | 'collecting'
  | 'completed'
  | 'failed'
  | 'cancelled';

export type HoldKind = 'manual' | 'window' | 'input' | 'sleep' | 'fleet' | 'budget' | 'external' | 'operator';

/** A reason for which a job must not run now. A job has at most one hold of a kind. */
export interface Hold {
  readonly kind: HoldKind;
  /** Who or what set it, e.g. a user's name, `cli`, `longhaul`. */
  readonly by: string;
  readonly reason: string;
  readonly since: string;
  /** When it ends by itself; `null` where somebody has to clear it. */
  readonly until: string | null;
}

/** What the evidence says of a sandbox. */
export type Verdict =
  | 'ready'
  | 'starting'
  | 'paused'
  | 'app-not-ready'
  | 'unreachable'
  | 'crash-looping'
  | 'lost';

/** What a pause or a resume is known to have done. */
export interface Receipt {
  readonly kind: 'pause' | 'resume';
  readonly incarnation: number;
  /** The holds at the time of a pause; empty for a resume. */
  readonly cause: readonly HoldKind[];
  readonly requestedAt: string;
  /** When the API showed the sandbox as `Paused` or `Running`. */
  readonly observedAt: string;
  /** When the agent gave its first good answer after a resume; `null` for a pause. */
  readonly readyAt: string | null;
  /** Last checkpoint before the pause. */
  readonly before: CheckpointSummary | null;
  /** First checkpoint after the resume; `null` for a pause. */
  readonly after: CheckpointSummary | null;
  /** The checkpoint after the resume is behind the one before the pause: work was lost. */
  readonly regressed: boolean;
}

export interface SandboxStatus {
  readonly id: string;
  /** As last seen by the workflow. */
  readonly state: 'starting' | 'running' | 'paused' | 'deleted';
  /** How many times the agent's process has been started. */
  readonly incarnation: number;
}

export interface JobFailure {
  readonly code: ErrorCode;
  readonly message: string;
  /** The last lines that the sandbox logged, where there were any. */
  readonly logs: string | null;
}

export interface JobStatus {
  readonly id: string;
  readonly phase: Phase;
  readonly phaseSince: string;
  /** What the job waits for, in words, and since when; `null` when it waits for nothing. */
  readonly waitingFor: { readonly what: string; readonly since: string } | null;
  readonly holds: readonly Hold[];
  readonly checkpoint: CheckpointSummary | null;
  readonly verdict: { readonly is: Verdict; readonly since: string; readonly because: string } | null;
  readonly sandbox: SandboxStatus | null;
  readonly hours: { readonly running: number; readonly paused: number; readonly provisioning: number };
  /** How often the agent was bounced or its sandbox made anew. */
  readonly restarts: number;
  readonly receipts: readonly Receipt[];
  /** Things that went otherwise than asked and that a person should know, e.g. an unsupported pause. */
  readonly warnings: readonly string[];
  readonly result: unknown;
  readonly failure: JobFailure | null;
  readonly startedAt: string;
  readonly endedAt: string | null;
}

/** What a finished job leaves as its workflow's result. */
export interface JobResult {
  readonly result: unknown;
  readonly status: JobStatus;
}
