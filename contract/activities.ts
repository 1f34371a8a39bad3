/**
 * What workflows may ask of activities. An activity reports what it found as an outcome; it fails only
 * for what a retry may cure, or with a non-retryable failure whose `type` is an `ErrorCode`.
 */

import type { CheckpointSummary, Question } from './checkpoint.js';
import type { JobSettings, WindowPlan } from './job-settings.js';
import type { CheckpointSpec, DrainSpec, InputSpec, NudgeSpec, SandboxSpec } from './job-spec.js';
import type { NotifySpec } from './notifications.js';
import type { Artifact, DrainReport, SnapshotRef, Verdict } from './status.js';
import type { JobEvent } from './timeline.js';
import type { WindowRule } from './windows.js';

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
  /** With it, the activity also awaits the agent's first answer for some seconds. */
  readonly checkpoint?: CheckpointSpec;
  /** @default the epoch */
  readonly incarnation?: number;
  /** A sandbox whose agent is done at its first answer is deleted at once. */
  readonly deleteWhenDone?: boolean;
  /** The agent is started only when `restoreSnapshot` has put its workspace back. */
  readonly awaitsRestore?: boolean;
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
  /** What a first short watch saw; absent where the agent did not answer within it. */
  readonly firstWatch?: WatchOutcome;
  /** Nothing of the job is left, by the word of the API. */
  readonly deleted?: boolean;
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
  /** What the agent is known to wait for: the watch returns when it is something else. */
  readonly knownWait?: string | null;
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
  /** The agent asks something that is not known yet. */
  | {
      readonly kind: 'agent-waits';
      readonly cursor: WatchCursor;
      readonly waitKey: string;
      readonly question: Question;
    }
  /** The agent sleeps until a time that is not known yet. */
  | {
      readonly kind: 'agent-sleeps';
      readonly cursor: WatchCursor;
      readonly waitKey: string;
      /** ISO 8601, UTC. */
      readonly wakeAt: string;
    }
  /** The agent no longer waits for what it was known to wait for. */
  | { readonly kind: 'agent-works'; readonly cursor: WatchCursor }
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
  readonly drain?: DrainSpec | null;
  /** Taken after the drain and before the pause. */
  readonly snapshot?: SnapshotRequest | null;
  /** Whose evidence it is; without it, none is kept. */
  readonly owner?: Ownership;
}

/** Heartbeat details of a pause: how far it is. */
export interface PauseProgress {
  readonly stage: 'draining' | 'pausing';
}

export type PauseOutcome =
  | {
      readonly kind: 'paused';
      readonly requestedAt: string;
      readonly observedAt: string;
      readonly checkpoint: CheckpointSummary | null;
      readonly drain?: DrainReport | null;
      readonly evidence?: readonly string[];
      readonly snapshot?: SnapshotRef | null;
    }
  /** The deployment cannot pause this sandbox at all. */
  | { readonly kind: 'unsupported'; readonly message: string }
  /** The sandbox went on running; worth another try later. */
  | { readonly kind: 'still-running'; readonly message: string }
  | { readonly kind: 'exited'; readonly message: string; readonly logs: string | null }
  | { readonly kind: 'lost'; readonly message: string };

export interface ResumeInput {
  readonly sandbox: SandboxRef;
  /** With it, the activity also awaits the agent's first answer for some seconds. */
  readonly checkpoint?: CheckpointSpec;
  readonly cursor?: WatchCursor | null;
}

export type ResumeOutcome =
  | {
      readonly kind: 'running';
      readonly requestedAt: string;
      readonly observedAt: string;
      readonly profile: WatchProfile;
      /** What a first short watch saw; absent where the agent did not answer within it. */
      readonly firstWatch?: WatchOutcome;
    }
  | { readonly kind: 'not-resumed'; readonly message: string }
  | { readonly kind: 'exited'; readonly message: string; readonly logs: string | null }
  | { readonly kind: 'lost'; readonly message: string };

export interface DeleteInput {
  readonly owner: Ownership;
  /** Delete this one for sure, besides all that carry the job's labels; `null` where none is known. */
  readonly sandboxId: string | null;
  /** Name of the moment under which logs, events and inspection are saved first. */
  readonly evidence?: string;
}

export interface DeleteOutcome {
  /** IDs whose absence was confirmed by the API. */
  readonly deleted: readonly string[];
}

/** What a parked job waits for, asked again and again at growing intervals without a trace in the history. */
export type ProbeInput =
  | { readonly until: 'api-accepts-key' }
  | { readonly until: 'not-paused'; readonly sandboxId: string };

export interface DeliverInputInput {
  readonly sandbox: SandboxRef;
  /** `null`: put it into the workspace as a file. */
  readonly endpoint: InputSpec | null;
  readonly document: InputDocument;
}

/** What the agent is given. It answers with success once it has it on disk; the same ID twice is one input. */
export interface InputDocument {
  readonly id: string;
  /** The agent's own name for its question; `null` where it gave none. */
  readonly question: string | null;
  readonly value: unknown;
}

export type DeliverInputOutcome =
  | { readonly kind: 'delivered' }
  /** The agent does not want it. */
  | { readonly kind: 'refused'; readonly message: string }
  /** Nobody knows whether it arrived: worth another try. */
  | { readonly kind: 'no-answer'; readonly message: string };

/** What of the workspace is copied. */
export interface SnapshotRequest {
  readonly paths: readonly string[];
  /** So many of the latest are kept. */
  readonly keep: number;
  /** Step of the last checkpoint. */
  readonly step: number | null;
}

export interface TakeSnapshotInput {
  readonly owner: Ownership;
  readonly sandbox: SandboxRef;
  readonly snapshot: SnapshotRequest;
}

export type TakeSnapshotOutcome =
  | { readonly kind: 'taken'; readonly snapshot: SnapshotRef }
  | { readonly kind: 'not-taken'; readonly message: string };

export interface RestoreSnapshotInput {
  readonly owner: Ownership;
  readonly sandbox: SandboxRef;
  readonly snapshot: SnapshotRef;
}

export type RestoreSnapshotOutcome =
  | { readonly kind: 'restored' }
  | { readonly kind: 'not-restored'; readonly message: string };

export interface CollectArtifactsInput {
  readonly owner: Ownership;
  readonly sandbox: SandboxRef;
  /** Files and folders below `/workspace`. */
  readonly paths: readonly string[];
}

export interface CollectArtifactsOutcome {
  readonly artifacts: readonly Artifact[];
  /** In words: what was not there or could not be read. */
  readonly problems: readonly string[];
}

export interface NudgeInput {
  readonly sandbox: SandboxRef;
  readonly endpoint: NudgeSpec;
}

export interface PlanWindowsInput {
  readonly pauseWindows: readonly WindowRule[];
  readonly runWindows: readonly WindowRule[];
  /** ISO 8601. */
  readonly from: string;
}

export interface CheckSettingsInput {
  /** As somebody wrote them. */
  readonly changes: unknown;
  readonly current: JobSettings;
  /** ISO 8601; the plan begins here. */
  readonly from: string;
}

export type CheckSettingsOutcome =
  | {
      readonly kind: 'accepted';
      readonly settings: JobSettings;
      readonly plan: WindowPlan;
      /** Names of the fields that differ from what was. */
      readonly changed: readonly string[];
    }
  | { readonly kind: 'refused'; readonly problems: readonly { path: string; message: string }[] };

export interface CheckAnswerInput {
  /** JSON Schema. */
  readonly schema: unknown;
  readonly value: unknown;
}

export interface CheckAnswerOutcome {
  /** In words, each with its place in the answer; empty: it fits. */
  readonly problems: readonly string[];
}

export interface RecordEventsInput {
  readonly owner: Ownership;
  readonly events: readonly JobEvent[];
}

export interface DeliverEventsInput {
  readonly owner: Ownership;
  readonly target: NotifySpec;
  /** In order; already only those that the target wants. */
  readonly events: readonly JobEvent[];
}

export interface DeliverEventsOutcome {
  readonly deliveredThrough: number;
  /** The receiver said that it wants no more. */
  readonly gone: boolean;
}

/** Short ones that run within a workflow task and leave a single event. */
export interface LocalActivities {
  planWindows(input: PlanWindowsInput): Promise<WindowPlan>;
  checkSettings(input: CheckSettingsInput): Promise<CheckSettingsOutcome>;
  checkAnswer(input: CheckAnswerInput): Promise<CheckAnswerOutcome>;
  recordEvents(input: RecordEventsInput): Promise<void>;
}

export interface Activities extends LocalActivities {
  createSandbox(input: CreateInput): Promise<CreateOutcome>;
  watchSandbox(input: WatchInput): Promise<WatchOutcome>;
  pauseSandbox(input: PauseInput): Promise<PauseOutcome>;
  resumeSandbox(input: ResumeInput): Promise<ResumeOutcome>;
  /** Returns only when the API has confirmed that nothing of the job is left. */
  deleteSandboxes(input: DeleteInput): Promise<DeleteOutcome>;
  probe(input: ProbeInput): Promise<void>;
  deliverInput(input: DeliverInputInput): Promise<DeliverInputOutcome>;
  deliverEvents(input: DeliverEventsInput): Promise<DeliverEventsOutcome>;
  takeSnapshot(input: TakeSnapshotInput): Promise<TakeSnapshotOutcome>;
  restoreSnapshot(input: RestoreSnapshotInput): Promise<RestoreSnapshotOutcome>;
  collectArtifacts(input: CollectArtifactsInput): Promise<CollectArtifactsOutcome>;
  /** Never fails: a nudge that does not arrive is none. */
  nudgeAgent(input: NudgeInput): Promise<void>;
}
