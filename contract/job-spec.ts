/**
 * The job spec after it has been checked: every default filled in, every duration in ms.
 * `job-spec.schema.ts` makes it from what people write; everything behind the edge trusts it.
 */

import type { JobSettings } from './job-settings.js';

/** A text file that the agent finds in its workspace. It is written once and never overwritten on resume. */
export interface WorkspaceFile {
  /** Absolute path below `/workspace/`. */
  readonly path: string;
  readonly content: string;
}

/** A volume at `/workspace` that outlives a pause. */
export interface Persistence {
  readonly storageClass: string;
  /** Kubernetes quantity, e.g. `5Gi`. */
  readonly size: string;
}

export interface SandboxSpec {
  readonly image: string;
  readonly entrypoint: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly files: readonly WorkspaceFile[];
  /** Kubernetes quantities, e.g. `cpu: "500m"`, `memory: "512Mi"`. */
  readonly resources: { readonly cpu: string; readonly memory: string };
  /** `null`: the workspace is gone with every pause. */
  readonly persistence: Persistence | null;
}

export interface CheckpointSpec {
  /** Port inside the sandbox at which the agent publishes its checkpoint. */
  readonly port: number;
  /** Path of the checkpoint document, without a leading slash. */
  readonly path: string;
  /** Time between two reads of the checkpoint. */
  readonly everyMs: number;
  /** A checkpoint that has not changed for so long counts as stalled. */
  readonly stallAfterMs: number;
}

/** Where the agent is asked to write its checkpoint before its process is stopped. */
export interface DrainSpec {
  readonly port: number;
  /** Without a leading slash. */
  readonly path: string;
  /** The pause goes on without an answer after so long. */
  readonly timeoutMs: number;
}

/** Where the agent takes the answer to its question. */
export interface InputSpec {
  readonly port: number;
  /** Without a leading slash. */
  readonly path: string;
}

/** An endpoint of the agent. */
export interface NudgeSpec {
  readonly port: number;
  /** Without a leading slash. */
  readonly path: string;
}

export interface RecoverySpec {
  /** What to do when the sandbox, or the agent's process, is gone: make a new one from the last snapshot, or fail. */
  readonly onLost: 'recreate' | 'fail';
  /** What to do when an agent stays stuck in spite of restarts: pause it for a person to look at, or fail. */
  readonly onStuck: 'park' | 'fail';
}

/** Copies of the workspace outside of the sandbox. */
export interface SnapshotSpec {
  readonly everyMs: number;
  /** Absolute paths of files and folders below `/workspace`. */
  readonly paths: readonly string[];
  /** So many of the latest are kept. */
  readonly keep: number;
  /** Also take one before each pause. */
  readonly onPause: boolean;
}

export interface JobSpec {
  /** The job's ID and its workflow ID; `null` lets the client choose one. */
  readonly id: string | null;
  readonly sandbox: SandboxSpec;
  readonly checkpoint: CheckpointSpec;
  /** `null`: the last published checkpoint is all there is. */
  readonly drain?: DrainSpec | null;
  /** `null`: answers are put into `/workspace/.longhaul/input.json`. */
  readonly input?: InputSpec | null;
  /** Where a stalled agent is told so; `null`: it is restarted at once. */
  readonly nudge?: NudgeSpec | null;
  readonly recovery?: RecoverySpec;
  /** `null`: the workspace is as safe as its volume. */
  readonly snapshots?: SnapshotSpec | null;
  /** Files and folders below `/workspace` that are collected at the end, also of a failed job. */
  readonly artifacts?: readonly string[];
  /** The sandbox of a failed job is kept, paused, for so long; `null`: it is deleted at once. */
  readonly keepOnFailureMs?: number | null;
  /** Absent, with all that is optional here, in jobs that version 0.1.0 submitted. */
  readonly settings?: JobSettings;
}
