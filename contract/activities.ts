/**
 * What workflows may ask of activities. An activity reports what it found as an outcome; it fails only
 * for what a retry may cure, or with a non-retryable failure whose `type` is an `ErrorCode`.
 */

import type { CheckpointSummary } from './checkpoint.js';
import type { CheckpointSpec, SandboxSpec } from './job-spec.js';
import type { Verdict } from './status.js';

/** Names the sandboxes of a job: the labels in their metadata are made of it. */
export interface Ownership {
  readonly jobId: string;
  /** `firstExecutionRunId`: the same over continue-as-new, another when the ID is used again. */
  readonly runChainId: string;
}

/** Which sandbox, started how many times. */
export interface SandboxRef {
  readonly id: string;
  readonly incarnation: number;
}

export interface CreateInput {
  readonly owner: Ownership;
  /** Counts the creates of the job, from 1: the fence between a lost create and the next one. */
  readonly epoch: number;
  readonly sandbox: SandboxSpec;
}

/** How a worker wants its watches to be run; decided by its deployment, recorded with the sandbox. */
export interface WatchProfile {
  /** A job goes unwatched for at most so long after its worker was killed. */
  readonly heartbeatTimeoutMs: number;
  /** A watch returns its cursor after so long, so that no activity lasts for days. */
  readonly sliceMs: number;
}

export interface CreateOutcome {
  readonly sandboxId: string;
  /** The sandbox was found by its labels after an ambiguous create. */
  readonly adopted: boolean;
  readonly createdAt: string;
  readonly profile: WatchProfile;
}

/** What a watch knows when it stops, and with what the next one goes on. Also its heartbeat details. */
export interface WatchCursor {
  readonly checkpoint: CheckpointSummary | null;
  /** When the checkpoint last changed, or evidence was last missing: the stall clock runs from here. */
  readonly unchangedSince: string;
  /** Reads since the last good one that gave no checkpoint. */
  readonly unreadableReads: number;
  readonly verdict: Verdict;
  readonly verdictSince: string;
  readonly because: string;
}

export interface WatchInput {
  readonly sandbox: SandboxRef;
  readonly checkpoint: CheckpointSpec;
  readonly profile: WatchProfile;
  /** `starting`: return at the agent's first good answer. `running`: go on until something happens. */
  readonly mode: 'starting' | 'running';
  readonly cursor: WatchCursor | null;
}

/** Why a watch returned. */
export type WatchOutcome =
  | { readonly kind: 'ready'; readonly cursor: WatchCursor }
  | { readonly kind: 'slice-over'; readonly cursor: WatchCursor }
  | {
      readonly kind: 'done';
      readonly cursor: WatchCursor;
      readonly result: unknown;
      /** Set where the result was too large to be kept in the history. */
      readonly resultOmittedBytes: number | null;
    }
  | {
      readonly kind: 'agent-failed';
      readonly cursor: WatchCursor;
      readonly message: string;
      readonly logs: string | null;
    }
  | { readonly kind: 'paused-outside'; readonly cursor: WatchCursor }
  | { readonly kind: 'lost'; readonly cursor: WatchCursor; readonly message: string }
  | {
      readonly kind: 'exited';
      readonly cursor: WatchCursor;
      readonly message: string;
      readonly logs: string | null;
    }
  | {
      readonly kind: 'stalled';
      readonly cursor: WatchCursor;
      readonly why: 'unchanged' | 'unreadable' | 'never-ready';
      readonly message: string;
      readonly logs: string | null;
    };

export interface PauseInput {
  readonly sandbox: SandboxRef;
  readonly checkpoint: CheckpointSpec;
}

export type PauseOutcome =
  | {
      readonly kind: 'paused';
      readonly requestedAt: string;
      readonly observedAt: string;
      readonly checkpoint: CheckpointSummary | null;
    }
  /** The deployment cannot pause this sandbox at all. */
  | { readonly kind: 'unsupported'; readonly message: string }
  /** The sandbox went on running; worth another try later. */
  | { readonly kind: 'still-running'; readonly message: string }
  | { readonly kind: 'exited'; readonly message: string; readonly logs: string | null }
  | { readonly kind: 'lost'; readonly message: string };

export interface ResumeInput {
  readonly sandbox: SandboxRef;
}

export type ResumeOutcome =
  | {
      readonly kind: 'running';
      readonly requestedAt: string;
      readonly observedAt: string;
      readonly profile: WatchProfile;
    }
  | { readonly kind: 'not-resumed'; readonly message: string }
  | { readonly kind: 'exited'; readonly message: string; readonly logs: string | null }
  | { readonly kind: 'lost'; readonly message: string };

export interface DeleteInput {
  readonly owner: Ownership;
  /** Delete this one for sure, besides all that carry the job's labels; `null` where none is known. */
  readonly sandboxId: string | null;
}

export interface DeleteOutcome {
  /** IDs whose absence was confirmed by the API. */
  readonly deleted: readonly string[];
}

/** What a parked job waits for, asked again and again at growing intervals without a trace in the history. */
export type ProbeInput =
  | { readonly until: 'api-accepts-key' }
  | { readonly until: 'not-paused'; readonly sandboxId: string };

export interface Activities {
  createSandbox(input: CreateInput): Promise<CreateOutcome>;
  watchSandbox(input: WatchInput): Promise<WatchOutcome>;
  pauseSandbox(input: PauseInput): Promise<PauseOutcome>;
  resumeSandbox(input: ResumeInput): Promise<ResumeOutcome>;
  /** Returns only when the API has confirmed that nothing of the job is left. */
  deleteSandboxes(input: DeleteInput): Promise<DeleteOutcome>;
  probe(input: ProbeInput): Promise<void>;
}
