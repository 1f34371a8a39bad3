/** Answers "what is this job doing, and what does it wait for" from the state. Pure. */

import type { Hold, JobStatus } from '../../contract/status.js';
import { limitUses } from './limits.js';
import { costOf, readMeter } from './meter.js';
import type { JobState } from './state.js';
import { answerCommand, openQuestion } from './waits.js';
import { nextEdge } from './windows.js';

const HOUR_MS = 3_600_000;

export function toStatus(id: string, state: JobState, now: string): JobStatus {
  const meter = readMeter(state.meter, now);
  const { rates } = state.settings;
  const asked = openQuestion(state);
  const isOver = state.endedAt !== null;
  return {
    id,
    phase: state.phase,
    phaseSince: state.phaseSince,
    waitingFor: waitingFor(id, state),
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
      wasted: toHours(meter.wastedMs),
    },
    cost:
      rates === null
        ? null
        : { amount: Math.round(costOf(meter, rates) * 1e4) / 1e4, currency: rates.currency },
    limits: limitUses(state, state.endedAt ?? now),
    question: isOver || asked === null ? null : { ...asked.question, since: asked.since },
    nextEdge: isOver ? null : nextEdge(state, now),
    overrideUntil: isOver ? null : state.overrideUntil,
    recoveryPoint: state.snapshot,
    kept: state.kept,
    sandboxes: state.epoch,
    restarts: state.restarts,
    receipts: state.receipts,
    warnings: state.warnings,
    artifacts: state.artifacts,
    result: state.result,
    failure: state.failure,
    startedAt: state.startedAt,
    endedAt: state.endedAt,
  };
}

function toHours(durationMs: number): number {
  return Math.round((durationMs / HOUR_MS) * 1e6) / 1e6;
}

function waitingFor(id: string, state: JobState): JobStatus['waitingFor'] {
  if (state.endedAt !== null) return null;
  const since = state.phaseSince;
  const operator = state.holds.find((hold) => hold.kind === 'operator');
  if (operator !== undefined && !state.parked)
    return { what: describeHold(id, operator), since: operator.since };
  switch (state.phase) {
    case 'provisioning':
      if (state.retryAt !== null)
        return { what: `the next try to create the sandbox, at ${state.retryAt}`, since };
      return {
        what: state.sandbox === null ? 'the sandbox to be created' : "the agent's first checkpoint",
        since,
      };
    case 'draining':
      return { what: 'the agent to write its checkpoint, then the sandbox to be paused', since };
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
  const holds = state.phase === 'running' && state.pauseUnsupported ? [] : state.holds;
  const [first] = holds;
  if (first !== undefined) {
    return { what: holds.map((hold) => describeHold(id, hold)).join('; and '), since: first.since };
  }
  if (state.answer !== null)
    return { what: 'the agent to take the answer', since: state.answer.deliveredAt ?? since };
  const asked = openQuestion(state);
  if (asked === null) return null;
  return { what: `an answer to "${asked.question.text}" (${answerCommand(id)})`, since: asked.since };
}

function describeHold(id: string, { kind, by, reason, until }: Hold): string {
  const end = until === null ? '' : ` until ${until}`;
  switch (kind) {
    case 'manual':
      return `a resume (paused by ${by}${end}: ${reason})`;
    case 'fleet':
      return `a resume of the fleet (paused by ${by}${end}: ${reason})`;
    case 'external':
      return `a resume (${reason})`;
    case 'operator':
      return `an operator: ${reason}`;
    case 'window':
      return `the end of a window${end}: ${reason}`;
    case 'input':
      return `an answer to "${reason}" (${answerCommand(id)})`;
    case 'sleep':
      return `its wake-up time ${until}`;
    case 'budget':
      return `a raised limit: ${reason} (longhaul configure ${id} --file job.yaml)`;
  }
}
