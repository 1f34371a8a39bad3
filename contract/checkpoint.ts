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
  /**
   * Names what the agent waits for, so that the same wait is known again: its question and the last answer
   * that it took, or its wake-up time. Absent where it waits for nothing.
   */
  readonly waitKey?: string;
  /** ID of the last input that the agent took. Absent where it took none. */
  readonly inputId?: string;
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

/** What a waiting agent asks. */
export interface Question {
  /** Cut to `QUESTION_MAX_CHARS`. */
  readonly text: string;
  /** JSON Schema of the answer; `null` where any JSON will do. */
  readonly schema: unknown;
  /** The agent's own name for it; `null` where it gave none. */
  readonly id: string | null;
}

export const QUESTION_MAX_CHARS = 2000;

/** A larger schema is not kept, and the answer is not checked against it. */
export const QUESTION_SCHEMA_MAX_BYTES = 16 * 1024;

/** Largest answer to a question: it travels through a history. */
export const INPUT_MAX_BYTES = 64 * 1024;

/** A sleep that ends sooner than this is not worth a pause and a resume. */
export const SLEEP_MIN_MS = 30_000;
