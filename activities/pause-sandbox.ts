/**
 * Pauses a sandbox: asks the agent to write its checkpoint, reads and saves what vanishes with the process,
 * then drives the sandbox to `Paused`.
 */

import type { PauseInput, PauseOutcome, PauseProgress } from '../contract/activities.js';
import type { CheckpointSummary } from '../contract/checkpoint.js';
import type { Dependencies } from './dependencies.js';
import { drain } from './drain.js';
import { driveState } from './drive-state.js';
import { readEvidence, saveEvidence, tailLogs } from './evidence.js';
import { heartbeatWhile } from './heartbeats.js';
import { readCheckpoint } from './watch/read-checkpoint.js';

const PAUSE_DEADLINE_MS = 10 * 60_000;
/** The last checkpoint is worth this wait, no more: an agent that hangs must be paused all the same. */
const LAST_READ_MS = 1500;

const DRAINING: PauseProgress = { stage: 'draining' };
const PAUSING: PauseProgress = { stage: 'pausing' };

export function pauseSandboxWith({ api, watches, store }: Dependencies) {
  return async function pauseSandbox(input: PauseInput): Promise<PauseOutcome> {
    const { sandbox, checkpoint: spec, owner } = input;
    watches.stop(sandbox.id);
    const drained =
      input.drain == null ? null : await heartbeatWhile(drain(api, sandbox, input.drain), DRAINING);
    const [checkpoint, found] = await Promise.all([
      lastCheckpoint(),
      owner === undefined ? {} : readEvidence(api, sandbox.id),
    ]);
    const [driven, evidence] = await Promise.all([
      driveState(api, sandbox.id, {
        from: 'Running',
        to: 'Paused',
        ask: () => api.pause(sandbox.id),
        deadlineMs: PAUSE_DEADLINE_MS,
        beat: PAUSING,
      }),
      owner === undefined ? [] : saveEvidence(store, owner, `${sandbox.incarnation}-pause`, found),
    ]);
    switch (driven.kind) {
      case 'reached': {
        const { requestedAt, observedAt } = driven;
        return { kind: 'paused', requestedAt, observedAt, checkpoint, drain: drained, evidence };
      }
      case 'refused':
      case 'deadline':
        return { kind: 'still-running', message: driven.message };
      case 'exited':
        return { ...driven, logs: await tailLogs(api, sandbox.id) };
      default:
        return driven;
    }

    async function lastCheckpoint(): Promise<CheckpointSummary | null> {
      const reading = await readCheckpoint(api, sandbox.id, spec, { timeoutMs: LAST_READ_MS }).catch(
        () => null,
      );
      return reading?.kind === 'checkpoint' ? reading.summary : null;
    }
  };
}
