/** Reads what an agent says it waits for: a question to a person, or a time. Its content is untrusted. */

import { createHash } from 'node:crypto';
import {
  type CheckpointStatus,
  QUESTION_MAX_CHARS,
  QUESTION_SCHEMA_MAX_BYTES,
  type Question,
} from '../../contract/checkpoint.js';

type Fields = Readonly<Record<string, unknown>>;

/**
 * The question of a waiting agent: a text, or an object with `text`, `id` and `schema`. Without one, the
 * agent's message has to do.
 */
export function readQuestion({ question, message }: Fields): Question {
  const fields: Fields = isObject(question) ? question : { text: question };
  const text = [fields.text, message].find((each) => typeof each === 'string' && each !== '') as
    | string
    | undefined;
  const { schema } = fields;
  const fits = isObject(schema) && JSON.stringify(schema).length <= QUESTION_SCHEMA_MAX_BYTES;
  return {
    text: (text ?? 'The agent waits for input.').slice(0, QUESTION_MAX_CHARS),
    schema: fits ? schema : null,
    id: typeof fields.id === 'string' ? fields.id.slice(0, QUESTION_MAX_CHARS) : null,
  };
}

/**
 * Names a wait so that the same one is known again, also by an agent that was started anew. The last input
 * is part of it: an agent that took an answer and asks the same again asks anew.
 */
export function waitKeyOf(status: CheckpointStatus, fields: Fields): string | null {
  if (status === 'waiting') {
    const { question, inputId } = fields;
    const named = isObject(question) && typeof question.id === 'string' ? question.id : question;
    return `input:${digest([named ?? fields.message ?? null, inputId ?? null])}`;
  }
  if (status !== 'sleeping') return null;
  const wakeAt = instantOf(fields.wakeAt);
  return wakeAt === null ? null : `sleep:${wakeAt}`;
}

/** ISO 8601 in UTC; `null` for what is no time. */
export function instantOf(text: unknown): string | null {
  const ms = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32);
}
