/**
 * Drives a sandbox into a state and believes it only when it is observed. Pausing and resuming are the
 * same loop: ask, then look until it is so. Every answer to the asking but a refusal is only a hint, since
 * a request whose answer was lost may have been carried out, and an accepted one may not.
 */

import { heartbeatSleep } from './heartbeats.js';
import {
  ConflictError,
  type Sandbox,
  type SandboxApi,
  SandboxNotFoundError,
  UnreachableError,
  UnsupportedError,
} from './sandbox-api/index.js';

/** An accepted request that has no effect for so long is made again: resumes right after a pause get lost. */
const ASK_AGAIN_MS = 10_000;
/** A sandbox that stays where it was although it was asked so often will not be moved. */
const MAX_ASKS = 5;
/** A refused request (409: another transition is under way) may be made again sooner; doubles with each. */
const ASK_AGAIN_AFTER_CONFLICT_MS = 500;
const FIRST_POLL_MS = 50;
const MAX_POLL_MS = 2000;
/** "Not found" must be seen twice, some seconds apart, before it is believed. */
const CONFIRM_LOST_MS = 3000;

export interface Drive {
  readonly from: 'Running' | 'Paused';
  readonly to: 'Running' | 'Paused';
  readonly ask: () => Promise<void>;
  /** Volumes take minutes to move between nodes, and pods to be scheduled. */
  readonly deadlineMs: number;
  /** Heartbeat details meanwhile. */
  readonly beat?: unknown;
}

export type Driven =
  | { readonly kind: 'reached'; readonly requestedAt: string; readonly observedAt: string }
  | { readonly kind: 'unsupported'; readonly message: string }
  /** It went back to, or stayed in, the state it was in. */
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'deadline'; readonly message: string }
  | { readonly kind: 'exited'; readonly message: string }
  | { readonly kind: 'lost'; readonly message: string };

export async function driveState(api: SandboxApi, id: string, drive: Drive): Promise<Driven> {
  const startedAt = Date.now();
  let requestedAt = new Date().toISOString();
  let asks = 0;
  let askAgainAtMs = 0;
  let lostAtMs: number | null = null;
  let pollMs = FIRST_POLL_MS;
  let due = true;

  for (;;) {
    if (due) {
      if (asks === 0) requestedAt = new Date().toISOString();
      asks += 1;
      const answer = await askOnce(drive.ask);
      if (answer.kind === 'unsupported') return answer;
      const waitMs = answer.kind === 'conflict' ? ASK_AGAIN_AFTER_CONFLICT_MS * 2 ** asks : ASK_AGAIN_MS;
      askAgainAtMs = Date.now() + waitMs;
      due = false;
    }

    const sandbox = await api.get(id);
    if (sandbox === null) {
      lostAtMs ??= Date.now();
      if (Date.now() - lostAtMs >= CONFIRM_LOST_MS) {
        return { kind: 'lost', message: `The API has no sandbox ${id} any more.` };
      }
    } else {
      lostAtMs = null;
      if (sandbox.state === drive.to)
        return { kind: 'reached', requestedAt, observedAt: new Date().toISOString() };
      if (sandbox.state === 'Failed' || sandbox.state === 'Terminated') {
        return { kind: 'exited', message: describe(sandbox) };
      }
      if (sandbox.state === drive.from && Date.now() >= askAgainAtMs) {
        if (asks >= MAX_ASKS) {
          return {
            kind: 'refused',
            message: `It was asked ${asks} times and is still ${describe(sandbox)}.`,
          };
        }
        due = true;
      }
      if (Date.now() - startedAt >= drive.deadlineMs) {
        return {
          kind: 'deadline',
          message: `It is ${describe(sandbox)} after ${drive.deadlineMs / 60_000} minutes.`,
        };
      }
    }
    if (!due) await heartbeatSleep(pollMs, drive.beat);
    pollMs = Math.min(pollMs * 1.5, MAX_POLL_MS);
  }
}

type Answer =
  | { readonly kind: 'unsupported'; readonly message: string }
  | { readonly kind: 'conflict' }
  /** Carried out, or nobody knows: look. */
  | { readonly kind: 'maybe' };

/** @throws what concerns the whole API: a rejected key, a rate limit, a refused connection. */
async function askOnce(ask: () => Promise<void>): Promise<Answer> {
  try {
    await ask();
    return { kind: 'maybe' };
  } catch (error) {
    if (error instanceof UnsupportedError) return { kind: 'unsupported', message: error.message };
    if (error instanceof ConflictError) return { kind: 'conflict' };
    if (error instanceof SandboxNotFoundError) return { kind: 'maybe' };
    if (error instanceof UnreachableError && error.ambiguous) return { kind: 'maybe' };
    throw error;
  }
}

export function describe(sandbox: Sandbox): string {
  return [sandbox.state, sandbox.reason, sandbox.message].filter(Boolean).join(', ');
}
