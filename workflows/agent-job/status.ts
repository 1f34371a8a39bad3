/** Answers "what is this job doing, and what does it wait for" from the state. Pure. */

import type { Hold, JobStatus } from '../../contract/status.js';
import { readMeter } from './meter.js';
import type { JobState } from './state.js';

const HOUR_MS = 3_600_000;

export function toStatus(id: string, state: JobState, now: string): JobStatus {
  const meter = readMeter(state.meter, now);
  return {
    id,
    phase: state.phase,
    phaseSince: state.phaseSince,
    waitingFor: waitingFor(state),
    holds: state.holds,
    checkpoint: state.cursor?.checkpoint ?? null,
    verdict:
      state.cursor === null
        ? null
        : { is: state.cursor.verdict, since: state.cursor.verdictSince, because: state.cursor.because },
    sandbox:
      state.sandbox === null
        ? null
        : { id: state.sandbox.id, state: state.sandbox.state, incarnation: state.sandbox.incarnation },
    hours: {
      running: toHours(meter.runningMs),
      paused: toHours(meter.pausedMs),
      provisioning: toHours(meter.provisioningMs),
    },
    restarts: state.restarts,
    receipts: state.receipts,
    warnings: state.warnings,
    result: state.result,
    failure: state.failure,
    startedAt: state.startedAt,
    endedAt: state.endedAt,
  };
}

function toHours(durationMs: number): number {
  return Math.round((durationMs / HOUR_MS) * 1e6) / 1e6;
}

function waitingFor(state: JobState): JobStatus['waitingFor'] {
  if (state.endedAt !== null) return null;
  const since = state.phaseSince;
  const operator = state.holds.find((hold) => hold.kind === 'operator');
  if (operator !== undefined) return { what: describeHold(operator), since: operator.since };
  switch (state.phase) {
    case 'provisioning':
      if (state.retryAt !== null)
        return { what: `the next try to create the sandbox, at ${state.retryAt}`, since };
      return {
        what: state.sandbox === null ? 'the sandbox to be created' : "the agent's first checkpoint",
        since,
      };
    case 'pausing':
      return { what: 'the sandbox to be paused', since };
    case 'resuming':
      if (state.retryAt !== null)
        return { what: `the next try to resume the sandbox, at ${state.retryAt}`, since };
      return {
        what: state.sandbox?.state === 'paused' ? 'the sandbox to run again' : "the agent's first checkpoint",
        since,
      };
    case 'collecting':
      return { what: 'the sandbox to be deleted', since };
    default:
      break;
  }
  const hold = state.holds[0];
  if (hold === undefined) return null;
  if (state.phase === 'running' && state.pauseUnsupported) return null;
  return { what: describeHold(hold), since: hold.since };
}

function describeHold(hold: Hold): string {
  switch (hold.kind) {
    case 'manual':
      return `a resume (paused by ${hold.by}: ${hold.reason})`;
    case 'external':
      return `a resume (${hold.reason})`;
    case 'operator':
      return `an operator: ${hold.reason}`;
    default:
      return `the end of the ${hold.kind} hold: ${hold.reason}`;
  }
}
