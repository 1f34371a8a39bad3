/**
 * What one look at a sandbox means: pure, so that every rule of it can be tested as a table.
 * Unreachable is never dead: only the word of the lifecycle API, given twice, ends a watch as lost or exited.
 */

import type { WatchCursor, WatchInput } from '../../contract/activities.js';
import { type CheckpointSummary, type Question, SLEEP_MIN_MS } from '../../contract/checkpoint.js';
import { formatDuration } from '../../contract/quantities.js';
import type { Verdict } from '../../contract/status.js';
import { instantOf } from './agent-waits.js';

/** What one look gave. `why` and `message` are in words, without any content of the agent's. */
export type Observation =
  | {
      readonly kind: 'checkpoint';
      readonly summary: CheckpointSummary;
      readonly result: unknown;
      readonly errorMessage: string | null;
      readonly question: Question | null;
    }
  /** The agent answered, but not with a checkpoint. */
  | { readonly kind: 'unreadable'; readonly why: string }
  /** The agent did not answer; the API says that its sandbox is in this state. */
  | { readonly kind: 'silent'; readonly why: string; readonly state: string; readonly message: string }
  /** The API says that there is no such sandbox. */
  | { readonly kind: 'absent' }
  /** Nobody answered. */
  | { readonly kind: 'unreachable'; readonly why: string; readonly retryAfterMs: number | null };

/** Proof that has been seen once and must be seen again before it is believed. */
export interface Doubt {
  readonly of: 'absent' | 'exited';
  readonly sinceMs: number;
}

export interface Knowledge {
  readonly cursor: WatchCursor;
  readonly doubt: Doubt | null;
}

/** What a watch should do now. The caller adds logs where the agent is at fault. */
export type Judgement =
  | { readonly kind: 'go-on' }
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly result: unknown }
  | { readonly kind: 'agent-failed'; readonly message: string }
  | { readonly kind: 'agent-waits'; readonly waitKey: string; readonly question: Question }
  | { readonly kind: 'agent-sleeps'; readonly waitKey: string; readonly wakeAt: string }
  | { readonly kind: 'agent-works' }
  | { readonly kind: 'paused-outside' }
  | { readonly kind: 'lost'; readonly message: string }
  | { readonly kind: 'exited'; readonly message: string }
  | {
      readonly kind: 'stalled';
      readonly why: 'unchanged' | 'unreadable' | 'never-ready';
      readonly message: string;
    };

/** The part of a watch's input that its looks are judged by. */
type JudgedFor = Pick<WatchInput, 'mode' | 'checkpoint' | 'knownWait'>;

/** Two looks this far apart make proof. */
export const CONFIRM_MS = 2000;

export function newKnowledge(now: string): Knowledge {
  return {
    doubt: null,
    cursor: {
      checkpoint: null,
      unchangedSince: now,
      unreadableReads: 0,
      verdict: 'starting',
      verdictSince: now,
      because: 'the agent has not answered yet',
    },
  };
}

export function judge(
  known: Knowledge,
  seen: Observation,
  input: JudgedFor,
  now: string,
): { readonly knowledge: Knowledge; readonly judgement: Judgement } {
  switch (seen.kind) {
    case 'checkpoint':
      return judgeCheckpoint(known, seen, input, now);
    case 'unreadable': {
      const cursor = withVerdict(
        known.cursor,
        input.mode === 'starting' ? 'starting' : 'app-not-ready',
        seen.why,
        now,
      );
      return stallOr(
        { cursor: { ...cursor, unreadableReads: cursor.unreadableReads + 1 }, doubt: null },
        input,
        now,
      );
    }
    case 'silent':
      return judgeSilence(known, seen, input, now);
    case 'absent':
      return confirm(
        known,
        'absent',
        withVerdict(known.cursor, 'lost', 'the API has no such sandbox', now),
        now,
        {
          kind: 'lost',
          message: 'The API has no such sandbox any more.',
        },
      );
    case 'unreachable': {
      // Nobody can tell whether the agent makes progress now, so the stall clock starts again.
      const cursor = withVerdict(known.cursor, 'unreachable', seen.why, now);
      return goOn({ cursor: { ...cursor, unchangedSince: now }, doubt: null });
    }
  }
}

function judgeCheckpoint(
  known: Knowledge,
  seen: Extract<Observation, { kind: 'checkpoint' }>,
  input: JudgedFor,
  now: string,
) {
  const changed = known.cursor.checkpoint?.digest !== seen.summary.digest;
  const knowledge: Knowledge = {
    doubt: null,
    cursor: {
      ...withVerdict(known.cursor, 'ready', 'the agent answers', now),
      checkpoint: seen.summary,
      unchangedSince: changed ? now : known.cursor.unchangedSince,
      unreadableReads: 0,
    },
  };
  const { status } = seen.summary;
  if (status === 'done') return { knowledge, judgement: { kind: 'done', result: seen.result } as const };
  if (status === 'failed') {
    const message =
      seen.errorMessage ?? seen.summary.message ?? 'The agent reported that it failed, without a reason.';
    return { knowledge, judgement: { kind: 'agent-failed', message } as const };
  }
  if (input.mode === 'starting') return { knowledge, judgement: { kind: 'ready' } as const };
  return judgeWait(knowledge, seen, input, now);
}

/** An agent that waits for somebody, or sleeps, is not expected to change. */
function judgeWait(
  knowledge: Knowledge,
  { summary, question }: Extract<Observation, { kind: 'checkpoint' }>,
  input: JudgedFor,
  now: string,
) {
  const { status, waitKey } = summary;
  const known = input.knownWait ?? null;
  if (status === 'waiting' && waitKey !== undefined && question !== null) {
    if (waitKey === known) return goOn(knowledge);
    return { knowledge, judgement: { kind: 'agent-waits', waitKey, question } as const };
  }
  const wakeAt = status === 'sleeping' ? instantOf(summary.wakeAt) : null;
  if (wakeAt !== null && waitKey !== undefined && wakeAt > now) {
    const isShort = Date.parse(wakeAt) - Date.parse(now) < SLEEP_MIN_MS;
    if (waitKey === known || (isShort && known === null)) return goOn(knowledge);
    if (!isShort) return { knowledge, judgement: { kind: 'agent-sleeps', waitKey, wakeAt } as const };
  }
  if (known !== null) return { knowledge, judgement: { kind: 'agent-works' } as const };
  // Until when it sleeps it does not say, so nobody can say that it overslept.
  if (status === 'sleeping' && wakeAt === null) return goOn(knowledge);
  return stallOr(knowledge, input, now);
}

function judgeSilence(
  known: Knowledge,
  seen: Extract<Observation, { kind: 'silent' }>,
  input: JudgedFor,
  now: string,
) {
  switch (seen.state) {
    case 'Paused':
      return {
        knowledge: {
          cursor: withVerdict(known.cursor, 'paused', 'the API shows it as Paused', now),
          doubt: null,
        },
        judgement: { kind: 'paused-outside' } as const,
      };
    case 'Failed':
    case 'Terminated':
      return confirm(known, 'exited', withVerdict(known.cursor, 'app-not-ready', seen.message, now), now, {
        kind: 'exited',
        message: `The agent's process ended before it reported that it was done: ${seen.message}`,
      });
    case 'Running': {
      const verdict = input.mode === 'starting' ? 'starting' : 'app-not-ready';
      return stallOr({ cursor: withVerdict(known.cursor, verdict, seen.why, now), doubt: null }, input, now);
    }
    default: {
      // Pending, Resuming, Stopping and whatever else there may be: it is on its way somewhere.
      const cursor = withVerdict(known.cursor, 'starting', `the sandbox is ${seen.message}`, now);
      return goOn({ cursor: { ...cursor, unchangedSince: now }, doubt: null });
    }
  }
}

function goOn(knowledge: Knowledge) {
  return { knowledge, judgement: { kind: 'go-on' } as const };
}

function stallOr(knowledge: Knowledge, input: JudgedFor, now: string) {
  const { cursor } = knowledge;
  const { stallAfterMs, port, path } = input.checkpoint;
  if (Date.parse(now) - Date.parse(cursor.unchangedSince) < stallAfterMs) return goOn(knowledge);
  const time = formatDuration(stallAfterMs);
  const stalled = (why: 'unchanged' | 'unreadable' | 'never-ready', message: string) => ({
    knowledge,
    judgement: { kind: 'stalled', why, message } as const,
  });
  if (cursor.unreadableReads > 0) {
    return stalled('unreadable', `For ${time} the agent gave no readable checkpoint: ${cursor.because}.`);
  }
  if (input.mode === 'starting') {
    return stalled(
      'never-ready',
      `The agent did not answer on port ${port}, path ${path}, for ${time}: ${cursor.because}.`,
    );
  }
  return stalled('unchanged', `The checkpoint has not changed for ${time}.`);
}

function confirm(known: Knowledge, of: Doubt['of'], cursor: WatchCursor, now: string, proven: Judgement) {
  const sinceMs = known.doubt?.of === of ? known.doubt.sinceMs : Date.parse(now);
  const knowledge: Knowledge = { cursor, doubt: { of, sinceMs } };
  return Date.parse(now) - sinceMs >= CONFIRM_MS ? { knowledge, judgement: proven } : goOn(knowledge);
}

function withVerdict(cursor: WatchCursor, verdict: Verdict, because: string, now: string): WatchCursor {
  const since = cursor.verdict === verdict ? cursor.verdictSince : now;
  return { ...cursor, verdict, verdictSince: since, because };
}
