/** What people and other workflows may tell a job. A live job never fails by what it is told. */

import {
  ApplicationFailure,
  currentUpdateInfo,
  defineUpdate,
  log,
  setDefaultSignalHandler,
  setHandler,
} from '@temporalio/workflow';
import { INPUT_MAX_BYTES } from '../../contract/checkpoint.js';
import type { ErrorCode } from '../../contract/errors.js';
import type { JobSettings } from '../../contract/job-settings.js';
import {
  BOUNCE_SIGNAL,
  CONFIGURE_UPDATE,
  type ConfigureRequest,
  INPUT_UPDATE,
  type InputAccepted,
  type InputRequest,
  NUDGE_SIGNAL,
  PAUSE_SIGNAL,
  RECREATE_SIGNAL,
  RESUME_SIGNAL,
} from '../../contract/messages.js';
import type { HoldKind } from '../../contract/status.js';
import { checkAnswer, checkSettings } from './activities.js';
import { advance } from './clock.js';
import { CLEARED_BY_RESUME, clearHold, putHold } from './holds.js';
import type { Remedy } from './ladder.js';
import { waiveLimits } from './limits.js';
import type { JobState } from './state.js';
import { record } from './timeline.js';
import { acceptAnswer, openQuestion, releaseWait } from './waits.js';
import { overrideWindow } from './windows.js';

const inputUpdate = defineUpdate<InputAccepted, [InputRequest]>(INPUT_UPDATE);
const configureUpdate = defineUpdate<JobSettings, [ConfigureRequest]>(CONFIGURE_UPDATE);

/** To be called before anything is awaited: messages may lie in wait from before the first task. */
export function handleMessages(state: JobState, jobId: string): void {
  // One handler for all names: with one for each, signals that lay in wait together would be handed over name by
  // name, so that a resume before a pause would undo it. Seen at continue-as-new under a storm of signals.
  setDefaultSignalHandler((name, request) => {
    const problem = handleSignal(state, jobId, name, request);
    if (problem !== null) log.warn(`ignored a signal: ${problem}`, { signal: name });
  });
  setHandler(inputUpdate, (request) => provideInput(state, request), {
    validator: (request) => refuseInput(state, request),
  });
  setHandler(configureUpdate, (request) => configure(state, jobId, request));
}

/** @returns why it was ignored. */
function handleSignal(state: JobState, jobId: string, name: string, request: unknown): string | null {
  const now = new Date().toISOString();
  const { by, reason, hold, until, force } = readRequest(request);
  if (hold !== undefined && hold !== 'manual' && hold !== 'fleet')
    return 'its hold is neither manual nor fleet';
  switch (name) {
    case PAUSE_SIGNAL: {
      const end = until === undefined ? null : readInstant(until);
      if (until !== undefined && end === null) return 'its "until" is not a time';
      if (end !== null && end <= now) return 'its "until" is over';
      putHold(state, { kind: hold ?? 'manual', by, reason, since: now, until: end }, now);
      return null;
    }
    case RESUME_SIGNAL: {
      const cause = `resumed by ${by}`;
      if (hold === 'fleet') {
        clearHold(state, 'fleet', cause, now);
        return null;
      }
      // What holds the job now may not be known yet: its workers may have been away.
      advance(state, jobId, now);
      overrideWindow(state, now);
      if (force === true) {
        waiveLimits(state, now);
        releaseWait(state);
      }
      const cleared: readonly HoldKind[] =
        force === true ? state.holds.map(({ kind }) => kind) : CLEARED_BY_RESUME;
      for (const kind of cleared) clearHold(state, kind, cause, now);
      state.parked = false;
      return null;
    }
    case NUDGE_SIGNAL:
      return remedy(state, { kind: 'nudge' }, by, now);
    case BOUNCE_SIGNAL:
      return remedy(state, { kind: 'bounce' }, by, now);
    case RECREATE_SIGNAL:
      return remedy(state, { kind: 'recreate' }, by, now);
    default:
      return 'its name is unknown';
  }
}

/** A step of recovery that a person asked for. @returns why it cannot be taken. */
function remedy(state: JobState, asked: Remedy, by: string, now: string): string | null {
  const { sandbox } = state;
  if (sandbox === null) return 'there is no sandbox now';
  if (asked.kind === 'nudge' && !state.canNudge) return 'the spec names no endpoint to nudge';
  if (asked.kind !== 'recreate' && sandbox.state === 'paused') return 'the sandbox is paused';
  state.remedy = asked;
  record(state, 'restart', `${asked.kind} asked for by ${by}`, now);
  return null;
}

function refuseInput(state: JobState, request: InputRequest): void {
  if (openQuestion(state) === null) {
    throw refusal(
      'NO_QUESTION',
      state.answer === null
        ? 'The agent asks nothing now.'
        : 'The question was answered already; the answer is on its way to the agent.',
    );
  }
  const json = JSON.stringify(request?.value);
  if (json === undefined) throw refusal('INPUT_INVALID', 'There is no value to answer with.');
  if (json.length > INPUT_MAX_BYTES) {
    throw refusal(
      'INPUT_INVALID',
      `The answer has ${json.length} characters; at most ${INPUT_MAX_BYTES} are allowed. Put it somewhere and answer with its address.`,
    );
  }
}

async function provideInput(state: JobState, request: InputRequest): Promise<InputAccepted> {
  const asked = openQuestion(state);
  if (asked?.question.schema != null) {
    const { problems } = await checkAnswer({ schema: asked.question.schema, value: request.value });
    if (problems.length > 0) {
      throw refusal('INPUT_INVALID', `The answer does not fit the question: ${problems.join('; ')}`);
    }
  }
  // While it was checked, another answer or another question may have come.
  if (openQuestion(state)?.key !== asked?.key) {
    throw refusal('NO_QUESTION', 'The question was answered or withdrawn in the meantime.');
  }
  const inputId = currentUpdateInfo()?.id ?? '';
  acceptAnswer(state, inputId, request.value, readRequest(request).by, new Date().toISOString());
  return { inputId };
}

async function configure(state: JobState, jobId: string, request: ConfigureRequest): Promise<JobSettings> {
  for (;;) {
    const before = state.settings;
    const outcome = await checkSettings({
      changes: request?.changes,
      current: before,
      from: new Date().toISOString(),
    });
    if (outcome.kind === 'refused') {
      throw ApplicationFailure.create({
        type: 'SPEC_INVALID' satisfies ErrorCode,
        message: 'The settings were refused; the job goes on with those that it has.',
        nonRetryable: true,
        details: [outcome.problems],
      });
    }
    // Another edit came in between: this one must build on it.
    if (state.settings !== before) continue;
    const now = new Date().toISOString();
    state.settings = outcome.settings;
    state.plan = outcome.plan;
    if (outcome.changed.includes('limits') || outcome.changed.includes('rates')) {
      state.waived = [];
      state.warnedOf = [];
    }
    record(state, 'configured', `${outcome.changed.join(', ')} by ${readRequest(request).by}`, now);
    advance(state, jobId, now);
    return state.settings;
  }
}

interface Request {
  readonly by: string;
  readonly reason: string;
  readonly hold?: unknown;
  readonly until?: unknown;
  readonly force?: unknown;
}

/**
 * Messages come from anywhere, also from `temporal workflow signal` without input: a name or reason that is
 * missing is filled in.
 */
function readRequest(input: unknown): Request {
  const fields = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {};
  return {
    ...fields,
    by: typeof fields.by === 'string' && fields.by !== '' ? fields.by.slice(0, 100) : 'unknown',
    reason:
      typeof fields.reason === 'string' && fields.reason !== ''
        ? fields.reason.slice(0, 300)
        : 'asked to pause',
  };
}

function readInstant(text: unknown): string | null {
  const ms = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}

function refusal(type: ErrorCode, message: string): ApplicationFailure {
  return ApplicationFailure.create({ type, message, nonRetryable: true });
}
