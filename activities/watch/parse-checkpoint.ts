/**
 * Reads a checkpoint document. Its content is untrusted: whatever it is, the answer is either a checkpoint
 * or a short reason why there is none, in words that contain nothing of the content.
 */

import { createHash } from 'node:crypto';
import {
  type CheckpointStatus,
  type CheckpointSummary,
  MESSAGE_MAX_CHARS,
  type Question,
} from '../../contract/checkpoint.js';
import { readQuestion, waitKeyOf } from './agent-waits.js';

/** Deeper documents are refused: nobody reads them, and recursive code breaks on them. */
const MAX_DEPTH = 64;
/** Longer IDs are cut: they only have to be known again. */
const ID_MAX_CHARS = 200;
const STATUSES: readonly string[] = [
  'running',
  'waiting',
  'sleeping',
  'done',
  'failed',
] satisfies CheckpointStatus[];

export type ParsedCheckpoint =
  | {
      readonly kind: 'checkpoint';
      readonly summary: CheckpointSummary;
      readonly result: unknown;
      readonly errorMessage: string | null;
      /** What a waiting agent asks. */
      readonly question: Question | null;
    }
  | { readonly kind: 'unreadable'; readonly why: string };

/**
 * @param status HTTP status of the agent's own answer.
 * @param readAt ISO 8601.
 */
export function parseCheckpoint(status: number, body: Buffer, readAt: string): ParsedCheckpoint {
  if (status === 404) return unreadable('the agent answers 404: it has not written a checkpoint yet');
  if (status === 204) return unreadable('the agent answers 204: no checkpoint');
  if (status !== 200) return unreadable(`the agent answers ${status} instead of its checkpoint`);
  if (body.byteLength === 0) return unreadable('the checkpoint is empty');

  let text: string;
  try {
    // Drops a byte order mark, refuses what is not UTF-8.
    text = new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    return unreadable('the checkpoint is not UTF-8 text');
  }
  if (/^\s*</.test(text)) return unreadable('the answer is HTML or XML, not JSON');
  if (depthOf(text) > MAX_DEPTH)
    return unreadable(`the checkpoint is nested deeper than ${MAX_DEPTH} levels`);

  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return unreadable('the checkpoint is not whole JSON');
  }
  if (typeof document !== 'object' || document === null || Array.isArray(document)) {
    return unreadable('the checkpoint is not a JSON object');
  }
  const fields = document as Record<string, unknown>;
  const wrong = findWrongField(fields);
  if (wrong !== null) return unreadable(wrong);

  const agentStatus = (fields.status ?? 'running') as CheckpointStatus;
  const waitKey = waitKeyOf(agentStatus, fields);
  return {
    kind: 'checkpoint',
    summary: {
      status: agentStatus,
      step: (fields.step ?? null) as number | null,
      progress: (fields.progress ?? null) as number | null,
      message: shorten(fields.message),
      digest: `sha256:${createHash('sha256').update(body).digest('hex')}`,
      sizeBytes: body.byteLength,
      readAt,
      updatedAt: (fields.updatedAt ?? null) as string | null,
      wakeAt: (fields.wakeAt ?? null) as string | null,
      ...(waitKey === null ? {} : { waitKey }),
      ...(typeof fields.inputId === 'string' ? { inputId: fields.inputId.slice(0, ID_MAX_CHARS) } : {}),
    },
    question: agentStatus === 'waiting' ? readQuestion(fields) : null,
    result: fields.result ?? null,
    errorMessage: messageOfError(fields.error),
  };
}

function unreadable(why: string): ParsedCheckpoint {
  return { kind: 'unreadable', why };
}

/** Which field breaks the contract, and how. A field that is null counts as absent. */
function findWrongField(fields: Record<string, unknown>): string | null {
  const { status, step, progress, message, updatedAt, wakeAt } = fields;
  if (status == null && step == null && progress == null) {
    return 'the document has none of status, step and progress, so it is no checkpoint';
  }
  if (status != null && !STATUSES.includes(status as string))
    return `its status is none of ${STATUSES.join(', ')}`;
  if (step != null && typeof step !== 'number') return 'its step is not a number';
  if (progress != null && !(typeof progress === 'number' && progress >= 0 && progress <= 1)) {
    return 'its progress is not a number from 0 to 1';
  }
  if (message != null && typeof message !== 'string') return 'its message is not a string';
  if (updatedAt != null && typeof updatedAt !== 'string') return 'its updatedAt is not a string';
  if (wakeAt != null && typeof wakeAt !== 'string') return 'its wakeAt is not a string';
  return null;
}

function messageOfError(error: unknown): string | null {
  if (typeof error === 'string') return shorten(error);
  if (typeof error !== 'object' || error === null) return null;
  return shorten((error as Record<string, unknown>).message);
}

function shorten(text: unknown): string | null {
  if (typeof text !== 'string' || text === '') return null;
  return text.length <= MESSAGE_MAX_CHARS ? text : `${text.slice(0, MESSAGE_MAX_CHARS - 1)}…`;
}

/** Deepest nesting of brackets outside of strings; an upper bound that needs no parser. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const char = text[index];
    if (inString) {
      if (char === '\\') index += 1;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === '{' || char === '[') deepest = Math.max(deepest, ++depth);
    else if (char === '}' || char === ']') depth -= 1;
  }
  return deepest;
}
