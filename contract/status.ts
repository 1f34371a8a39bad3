/** What anybody may ask of a job, and the answer in the words of the product. Times are ISO 8601 in UTC. */

import type { CheckpointSummary, Question } from './checkpoint.js';
import type { ErrorCode } from './errors.js';
import type { LimitName } from './job-settings.js';

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

/** What the agent did when it was asked to write its checkpoint. */
export interface DrainReport {
  readonly kind: 'drained' | 'refused' | 'no-answer';
  /** In words, e.g. the status that the agent answered with. */
  readonly detail: string;
  readonly tookMs: number;
}

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
  /** What came of the drain before a pause; `null` where the spec names none. */
  readonly drain: DrainReport | null;
  /** Keys in the store: logs, events and inspection of the sandbox before its pod went away. */
  readonly evidence: readonly string[];
}

/** How long the sandbox of a job did what, in hours. */
export interface JobHours {
  readonly running: number;
  readonly paused: number;
  readonly provisioning: number;
  /** Of the running hours: work between the last change of a checkpoint and a crash. */
  readonly wasted: number;
}

/** A copy of the workspace in the store. */
export interface SnapshotRef {
  /** Of its manifest in the store. */
  readonly key: string;
  readonly takenAt: string;
  /** Of the checkpoint that was read last before it. */
  readonly step: number | null;
  readonly files: number;
  readonly sizeBytes: number;
}

/** A file that was collected at the end of a job. */
export interface Artifact {
  /** In the sandbox. */
  readonly path: string;
  /** In the store. */
  readonly key: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

/** How much of a limit is used up. */
export interface LimitUse {
  readonly name: LimitName;
  /** 1: all of it. */
  readonly used: number;
  /** As people read it, e.g. `8h` or `2026-12-24T18:00:00.000Z`. */
  readonly limit: string;
  /** Somebody let the job run on in spite of it. */
  readonly waived: boolean;
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
  readonly hours: JobHours;
  /** What the hours cost so far; `null` where the spec gives no rates. */
  readonly cost: { readonly amount: number; readonly currency: string } | null;
  readonly limits: readonly LimitUse[];
  /** What the agent asked and nobody has answered. */
  readonly question: (Question & { readonly since: string }) | null;
  /** The next edge of a window, as it concerns this job. */
  readonly nextEdge: { readonly at: string; readonly does: 'pause' | 'resume' } | null;
  /** How much would be lost with the sandbox: the last copy of the workspace; `null` where there is none. */
  readonly recoveryPoint: SnapshotRef | null;
  /** The sandbox of the failed job is kept until then. */
  readonly kept: { readonly sandboxId: string; readonly until: string } | null;
  /** The job runs in a window until then, because somebody resumed it. */
  readonly overrideUntil: string | null;
  /** How many sandboxes were asked for. */
  readonly sandboxes: number;
  /** How often the agent was bounced or its sandbox made anew. */
  readonly restarts: number;
  readonly receipts: readonly Receipt[];
  /** Things that went otherwise than asked and that a person should know, e.g. an unsupported pause. */
  readonly warnings: readonly string[];
  readonly artifacts: readonly Artifact[];
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
