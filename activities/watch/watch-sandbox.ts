/**
 * Watches one agent: a loop of looks inside one activity, since a look then costs Temporal nothing.
 * Its heartbeats carry the cursor: live progress for everybody who asks, and the place where the next
 * attempt goes on after a worker died.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { activityInfo, cancellationSignal, heartbeat } from '@temporalio/activity';
import type { WatchCursor, WatchInput, WatchOutcome } from '../../contract/activities.js';
import { RESULT_MAX_BYTES } from '../../contract/checkpoint.js';
import type { Dependencies } from '../dependencies.js';
import { describe } from '../drive-state.js';
import { tailLogs } from '../evidence.js';
import {
  KeyRejectedError,
  RateLimitedError,
  type SandboxApi,
  SandboxApiError,
} from '../sandbox-api/index.js';
import {
  CONFIRM_MS,
  type Judgement,
  judge,
  type Knowledge,
  newKnowledge,
  type Observation,
} from './judge.js';
import { readCheckpoint } from './read-checkpoint.js';

const FIRST_POLL_MS = 50;
/** An API that does not answer is asked more rarely, up to this or the spec's interval, whichever is longer. */
const MAX_BACKOFF_MS = 30_000;
/** A wait longer than this is not held in an activity but handed to Temporal as a retry. */
const LONGEST_HELD_WAIT_MS = 60_000;

export function watchSandboxWith({ api, watches }: Dependencies) {
  return async function watchSandbox(input: WatchInput): Promise<WatchOutcome> {
    const { id } = input.sandbox;
    const local = watches.begin(id);
    const signal = AbortSignal.any([cancellationSignal(), local.signal]);
    try {
      return await watch(api, input, signal);
    } catch (error) {
      // Stopped from within this process: somebody pauses or deletes the sandbox, and nobody waits for this.
      if (local.signal.aborted && !cancellationSignal().aborted) {
        return { kind: 'slice-over', cursor: input.cursor ?? newKnowledge(new Date().toISOString()).cursor };
      }
      throw error;
    } finally {
      local.release();
    }
  };
}

function watch(api: SandboxApi, input: WatchInput, signal: AbortSignal): Promise<WatchOutcome> {
  const cursor = (activityInfo().heartbeatDetails as WatchCursor | undefined) ?? input.cursor;
  const { heartbeatTimeoutMs, sliceMs } = input.profile;
  return watchFrom(cursor, {
    api,
    input,
    signal,
    limitMs: sliceMs,
    beatEveryMs: heartbeatTimeoutMs / 3,
    beat: heartbeat,
  });
}

export interface Looking {
  readonly api: SandboxApi;
  readonly input: WatchInput;
  readonly signal: AbortSignal;
  /** The slice is over after so long. */
  readonly limitMs: number;
  readonly beatEveryMs: number;
  readonly beat: (cursor: WatchCursor) => void;
}

/** The loop of looks, until something must be decided or the time is over. */
export async function watchFrom(from: WatchCursor | null, looking: Looking): Promise<WatchOutcome> {
  const { api, input, signal, limitMs, beatEveryMs, beat } = looking;
  const startMs = Date.now();
  let knowledge: Knowledge = newKnowledge(new Date(startMs).toISOString());
  if (from !== null) knowledge = { ...knowledge, cursor: from };
  let silentLooks = 0;

  for (let looks = 1; ; looks += 1) {
    // A look at an API that hangs takes longer than a heartbeat timeout may be.
    const beating = setInterval(() => beat(knowledge.cursor), beatEveryMs);
    const seen = await look(api, input, signal).finally(() => clearInterval(beating));
    const judged = judge(knowledge, seen, input, new Date().toISOString());
    knowledge = judged.knowledge;
    beat(knowledge.cursor);
    if (judged.judgement.kind !== 'go-on') return conclude(api, input, knowledge.cursor, judged.judgement);
    if (Date.now() - startMs >= limitMs) return { kind: 'slice-over', cursor: knowledge.cursor };

    silentLooks = seen.kind === 'unreachable' ? silentLooks + 1 : 0;
    const retryAfterMs = seen.kind === 'unreachable' ? seen.retryAfterMs : null;
    await beatingSleep(retryAfterMs ?? nextWaitMs(), knowledge.cursor, looking);

    function nextWaitMs(): number {
      const { everyMs } = input.checkpoint;
      if (knowledge.doubt !== null) return CONFIRM_MS;
      if (silentLooks > 0) return Math.min(1000 * 2 ** silentLooks, Math.max(MAX_BACKOFF_MS, everyMs));
      if (input.mode === 'starting') return Math.min(FIRST_POLL_MS * 1.5 ** looks, everyMs);
      // A little jitter, so that thousands of watches do not fall into step.
      return everyMs * (0.95 + 0.1 * Math.random());
    }
  }
}

/** One look: the agent's checkpoint and, where it gave none, the state of its sandbox. */
async function look(api: SandboxApi, input: WatchInput, signal: AbortSignal): Promise<Observation> {
  const { id } = input.sandbox;
  try {
    const reading = await readCheckpoint(api, id, input.checkpoint, { signal });
    if (reading.kind !== 'no-answer') return reading;
    const sandbox = await api.get(id, signal);
    if (sandbox === null) return { kind: 'absent' };
    return { kind: 'silent', why: reading.why, state: sandbox.state, message: describe(sandbox) };
  } catch (error) {
    if (signal.aborted || !(error instanceof SandboxApiError)) throw error;
    if (error instanceof KeyRejectedError) throw error;
    const retryAfterMs = error instanceof RateLimitedError ? error.retryAfterMs : null;
    if (retryAfterMs !== null && retryAfterMs > LONGEST_HELD_WAIT_MS) throw error;
    return { kind: 'unreachable', why: error.message, retryAfterMs };
  }
}

async function conclude(
  api: SandboxApi,
  input: WatchInput,
  cursor: WatchCursor,
  judgement: Exclude<Judgement, { kind: 'go-on' }>,
): Promise<WatchOutcome> {
  switch (judgement.kind) {
    case 'done': {
      const sizeBytes = Buffer.byteLength(JSON.stringify(judgement.result) ?? '');
      const fits = sizeBytes <= RESULT_MAX_BYTES;
      return {
        kind: 'done',
        cursor,
        result: fits ? judgement.result : null,
        resultOmittedBytes: fits ? null : sizeBytes,
      };
    }
    case 'agent-failed':
    case 'exited':
    case 'stalled':
      return { ...judgement, cursor, logs: await tailLogs(api, input.sandbox.id) };
    default:
      return { ...judgement, cursor };
  }
}

/** Beats in good time for the heartbeat timeout. */
async function beatingSleep(
  durationMs: number,
  cursor: WatchCursor,
  { beat, beatEveryMs, signal }: Looking,
): Promise<void> {
  for (let leftMs = durationMs; leftMs > 0; leftMs -= beatEveryMs) {
    await sleep(Math.min(leftMs, beatEveryMs), undefined, { signal }).catch(() => {
      throw signal.reason;
    });
    if (leftMs > beatEveryMs) beat(cursor);
  }
}
