/** Pauses a sandbox: reads the last checkpoint while it can still be read, then drives it to `Paused`. */

import type { PauseInput, PauseOutcome } from '../contract/activities.js';
import type { CheckpointSummary } from '../contract/checkpoint.js';
import type { Dependencies } from './dependencies.js';
import { driveState } from './drive-state.js';
import { tailLogs } from './evidence.js';
import { readCheckpoint } from './watch/read-checkpoint.js';

const PAUSE_DEADLINE_MS = 10 * 60_000;
/** The last checkpoint is worth this wait, no more: an agent that hangs must be paused all the same. */
const LAST_READ_MS = 1500;

export function pauseSandboxWith({ api, watches }: Dependencies) {
  return async function pauseSandbox({ sandbox, checkpoint: spec }: PauseInput): Promise<PauseOutcome> {
    watches.stop(sandbox.id);
    const checkpoint = await lastCheckpoint();
    const driven = await driveState(api, sandbox.id, {
      from: 'Running',
      to: 'Paused',
      ask: () => api.pause(sandbox.id),
      deadlineMs: PAUSE_DEADLINE_MS,
    });
    switch (driven.kind) {
      case 'reached':
        return { kind: 'paused', requestedAt: driven.requestedAt, observedAt: driven.observedAt, checkpoint };
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
