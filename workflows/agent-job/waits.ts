/**
 * What the agent itself waits for: a person's answer or a time. It is paused meanwhile. An answer is kept
 * until the agent shows that it has taken it, since the message that carries it may get lost.
 */

import type { InputDocument } from '../../contract/activities.js';
import type { Question } from '../../contract/checkpoint.js';
import { clearHold, hasHold, putHold } from './holds.js';
import { type JobState, warn } from './state.js';
import { record } from './timeline.js';

export type AgentWait =
  | {
      readonly kind: 'input';
      readonly key: string;
      readonly question: Question;
      readonly since: string;
      /** Somebody let the agent run on while it waits. */
      readonly released: boolean;
    }
  | {
      readonly kind: 'sleep';
      readonly key: string;
      readonly wakeAt: string;
      readonly since: string;
      readonly released: boolean;
    };

export interface Answer {
  readonly document: InputDocument;
  /** The wait that it ends. */
  readonly waitKey: string;
  readonly by: string;
  readonly deliveries: number;
  readonly deliveredAt: string | null;
  /** After a delivery that nobody answered. */
  readonly notBefore: string | null;
}

/** A delivered answer that the agent's checkpoint does not show after so long is delivered again. */
const ACKNOWLEDGE_MS = 60_000;
const RETRY_MS = 15_000;
const MAX_DELIVERIES = 3;

/** Sets the input hold when the grace is over, and gives up an answer that the agent does not take. */
export function applyWaits(state: JobState, jobId: string, now: string): void {
  const { wait, answer } = state;
  if (answer?.deliveredAt != null && answer.deliveries >= MAX_DELIVERIES && isOverdue(answer, now)) {
    state.answer = null;
    const warning = `The agent was given the answer ${MAX_DELIVERIES} times and still asks; its question is open again.`;
    warn(state, warning);
    record(state, 'warning', warning, now, answerCommand(jobId));
    if (wait !== null) state.wait = { ...wait, since: now };
    return;
  }
  if (wait?.kind !== 'input' || wait.released || answer !== null) return;
  if (later(wait.since, state.settings.inputGraceMs) > now) return;
  if (hasHold(state.holds, 'input')) return;
  putHold(state, { kind: 'input', by: 'agent', reason: wait.question.text, since: now, until: null }, now);
}

export function waitAlarms({ wait, answer, settings }: JobState): string[] {
  const grace = wait?.kind === 'input' && !wait.released ? [later(wait.since, settings.inputGraceMs)] : [];
  if (answer === null) return grace;
  const delivery = answer.deliveredAt === null ? answer.notBefore : later(answer.deliveredAt, ACKNOWLEDGE_MS);
  return delivery === null ? grace : [...grace, delivery];
}

export function beginInputWait(
  state: JobState,
  jobId: string,
  key: string,
  question: Question,
  now: string,
): void {
  endWait(state, now);
  state.wait = { kind: 'input', key, question, since: now, released: false };
  record(state, 'question', question.text, now, answerCommand(jobId));
}

export function beginSleep(state: JobState, key: string, wakeAt: string, now: string): void {
  endWait(state, now);
  state.wait = { kind: 'sleep', key, wakeAt, since: now, released: false };
  putHold(
    state,
    { kind: 'sleep', by: 'agent', reason: `the agent sleeps until ${wakeAt}`, since: now, until: wakeAt },
    now,
  );
}

/** The agent goes on; an answer that was delivered has thereby been taken. */
export function endWait(state: JobState, now: string): void {
  const { wait, answer } = state;
  if (answer !== null && answer.deliveredAt !== null) {
    state.answer = null;
    record(state, 'input-delivered', `the agent took the answer of ${answer.by}`, now);
  }
  state.wait = null;
  if (wait !== null) clearHold(state, wait.kind, 'the agent goes on', now);
}

export function acceptAnswer(state: JobState, id: string, value: unknown, by: string, now: string): void {
  const { wait } = state;
  if (wait?.kind !== 'input') return;
  state.answer = {
    document: { id, question: wait.question.id, value },
    waitKey: wait.key,
    by,
    deliveries: 0,
    deliveredAt: null,
    notBefore: null,
  };
  record(state, 'input-accepted', `answered by ${by}`, now);
  clearHold(state, 'input', `answered by ${by}`, now);
}

/** The question that somebody may answer now. */
export function openQuestion({ wait, answer }: JobState): (AgentWait & { kind: 'input' }) | null {
  return wait?.kind === 'input' && answer === null ? wait : null;
}

/** An answer is there, and the agent asks for it. */
export function isAnswerDue({ answer, cursor }: JobState, now: string): boolean {
  if (answer === null || cursor?.checkpoint?.waitKey !== answer.waitKey) return false;
  if (answer.deliveredAt === null) return answer.notBefore === null || answer.notBefore <= now;
  return answer.deliveries < MAX_DELIVERIES && isOverdue(answer, now);
}

export function markDelivered(state: JobState, now: string): void {
  if (state.answer === null) return;
  const { answer } = state;
  state.answer = { ...answer, deliveries: answer.deliveries + 1, deliveredAt: now, notBefore: null };
}

export function deliverLater(state: JobState, now: string): void {
  if (state.answer !== null) state.answer = { ...state.answer, notBefore: later(now, RETRY_MS) };
}

/** The agent refused the answer: its question is open again. */
export function rejectAnswer(state: JobState, jobId: string, why: string, now: string): void {
  state.answer = null;
  const warning = `The agent did not take the answer: ${why}`;
  warn(state, warning);
  record(state, 'warning', warning, now, answerCommand(jobId));
}

/** Lets the agent run while it waits; the next wait holds it again. */
export function releaseWait(state: JobState): void {
  if (state.wait !== null) state.wait = { ...state.wait, released: true };
}

export function answerCommand(jobId: string): string {
  return `longhaul input ${jobId} --json '…'`;
}

function isOverdue({ deliveredAt }: Answer, now: string): boolean {
  return deliveredAt !== null && later(deliveredAt, ACKNOWLEDGE_MS) <= now;
}

function later(instant: string, byMs: number): string {
  return new Date(Date.parse(instant) + byMs).toISOString();
}
