/** What an agent publishes about itself, as far as an orchestrator needs it. */

export type CheckpointStatus = 'running' | 'waiting' | 'sleeping' | 'done' | 'failed';

/**
 * The part of a checkpoint that is kept in histories, statuses and heartbeats.
 * The document itself is never stored: `digest` and `sizeBytes` stand for it.
 */
export interface CheckpointSummary {
  readonly status: CheckpointStatus;
  readonly step: number | null;
  /** 0 to 1. */
  readonly progress: number | null;
  /** Cut to `MESSAGE_MAX_CHARS`. */
  readonly message: string | null;
  /** `sha256:` and 64 hexadecimal digits, over the bytes of the document. */
  readonly digest: string;
  readonly sizeBytes: number;
  /** ISO 8601, UTC: when the orchestrator read it. */
  readonly readAt: string;
  /** ISO 8601 as the agent wrote it. */
  readonly updatedAt: string | null;
  /** ISO 8601 as the agent wrote it: when a `sleeping` agent wants to go on. */
  readonly wakeAt: string | null;
}

/** Longest message that is kept of a checkpoint or an error of an agent. */
export const MESSAGE_MAX_CHARS = 400;

/** Largest checkpoint document that is read at all. */
export const CHECKPOINT_MAX_BYTES = 1024 * 1024;

/**
 * Largest `result` that travels through a workflow history as it is. Temporal warns at 256 KB a payload
 * and refuses 2 MB; a larger result is left out and its size told.
 */
export const RESULT_MAX_BYTES = 128 * 1024;
