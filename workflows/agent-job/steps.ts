/** How each step is done. What came of it is written down by the functions of outcomes.ts and watched.ts. */

import { isCancellation } from '@temporalio/workflow';
import {
  createSandbox,
  deleteSandboxes,
  deliverInput,
  nudgeAgent,
  pauseSandbox,
  planWindows,
  probe,
  restoreSnapshot,
  resumeSandbox,
  watchWith,
} from './activities.js';
import { type End, failed } from './end.js';
import { failureOf, isParkedBy } from './failures.js';
import { causeOf, clearHold, putHold } from './holds.js';
import { type Job, now } from './job.js';
import { switchMeter } from './meter.js';
import { nextStep, type Step } from './next-step.js';
import {
  applyCreated,
  applyDelivered,
  applyDiscarded,
  applyNotRestored,
  applyPaused,
  applyResumed,
  applyStartFailed,
  causeOfPause,
} from './outcomes.js';
import { whileDue } from './patience.js';
import { type JobSandbox, type JobState, warn } from './state.js';
import { enterPhase } from './timeline.js';
import { applyWatched } from './watched.js';

/** A calendar that could not be computed is tried again after this; until then the job runs as if it had none. */
const PLAN_AGAIN_MS = 5 * 60_000;

/** Does one step. What only a person can mend parks the job instead of failing it. */
export async function perform(job: Job, step: Step): Promise<End | null> {
  try {
    return await doStep(job, step);
  } catch (error) {
    const reason = isParkedBy(error);
    if (reason === null) throw error;
    park(job.state, reason);
    return null;
  }
}

async function doStep(job: Job, step: Step): Promise<End | null> {
  const { state } = job;
  switch (step.do) {
    case 'create':
      return create(job);
    case 'watch':
      return watch(job, step.sandbox);
    case 'pause':
      return pause(job, step.sandbox);
    case 'resume':
      return resume(job, step.sandbox);
    case 'nudge':
      return nudge(job, step.sandbox);
    case 'discard':
      return discard(job, step.sandbox);
    case 'deliver-input':
      return deliver(job, step.sandbox);
    case 'await-outside-resume':
      await whileDue(job, step, () => probe({ until: 'not-paused', sandboxId: step.sandbox.id }));
      if (nextStep(state, now()).do === step.do)
        clearHold(state, 'external', 'it was resumed from outside', now());
      return null;
    case 'await-operator':
      await whileDue(job, step, () => probe({ until: 'api-accepts-key' }));
      clearHold(state, 'operator', 'the API accepts the key', now());
      return null;
    case 'stop':
      return failed('LIMIT_REACHED', `The job was ended: ${causeOf(state.holds)}`);
    case 'rest':
      await whileDue(job, step);
      return null;
  }
}

async function create(job: Job): Promise<End | null> {
  const { id, owner, spec, state } = job;
  const { snapshot } = state;
  enterPhase(state, 'provisioning', 'the sandbox is being created', now());
  state.meter = switchMeter(state.meter, 'provisioning', now());
  state.epoch += 1;
  try {
    const outcome = await createSandbox({
      owner,
      epoch: state.epoch,
      incarnation: state.starts + 1,
      sandbox: spec.sandbox,
      ...(snapshot === null
        ? { checkpoint: spec.checkpoint, deleteWhenDone: (spec.artifacts ?? []).length === 0 }
        : { awaitsRestore: true }),
    });
    const sandbox = applyCreated(state, outcome, now());
    if (snapshot !== null) {
      const restored = await restoreSnapshot({ owner, sandbox: refOf(sandbox), snapshot });
      if (restored.kind === 'not-restored') return applyNotRestored(state, id, restored.message, now());
    }
    if (outcome.firstWatch === undefined) return null;
    const ended = applyWatched(state, id, sandbox, outcome.firstWatch, now());
    if (outcome.deleted) sandbox.state = 'deleted';
    return ended;
  } catch (error) {
    const failure = failureOf(error);
    state.meter = switchMeter(state.meter, null, now());
    if (failure?.code !== 'SANDBOX_START_FAILED') throw error;
    return applyStartFailed(state, failure.message, now());
  }
}

async function watch(job: Job, sandbox: JobSandbox): Promise<End | null> {
  const { id, spec, state } = job;
  const outcome = await whileDue(job, { do: 'watch', sandbox }, () =>
    watchWith(sandbox.profile)({
      sandbox: refOf(sandbox),
      checkpoint: spec.checkpoint,
      profile: sandbox.profile,
      mode: sandbox.state === 'starting' ? 'starting' : 'running',
      cursor: state.cursor,
      knownWait: state.wait?.key ?? null,
    }),
  );
  return outcome === undefined ? null : applyWatched(state, id, sandbox, outcome, now());
}

async function pause({ id, owner, spec, state }: Job, sandbox: JobSandbox): Promise<End | null> {
  enterPhase(state, spec.drain == null ? 'pausing' : 'draining', causeOfPause(state), now());
  const { snapshots } = spec;
  const outcome = await pauseSandbox({
    sandbox: refOf(sandbox),
    checkpoint: spec.checkpoint,
    drain: spec.drain ?? null,
    snapshot: snapshots?.onPause
      ? { paths: snapshots.paths, keep: snapshots.keep, step: state.cursor?.checkpoint?.step ?? null }
      : null,
    owner,
  });
  const ended = applyPaused(state, id, sandbox, outcome, now());
  if (sandbox.state !== 'paused') {
    const phase = sandbox.state === 'running' ? 'running' : 'provisioning';
    enterPhase(state, phase, 'the sandbox was not paused', now());
  }
  return ended;
}

async function resume({ id, spec, state }: Job, sandbox: JobSandbox): Promise<End | null> {
  enterPhase(state, 'resuming', 'nothing holds the job any more', now());
  state.meter = switchMeter(state.meter, 'provisioning', now());
  const outcome = await resumeSandbox({
    sandbox: refOf(sandbox),
    checkpoint: spec.checkpoint,
    cursor: state.cursor,
  });
  const ended = applyResumed(state, id, sandbox, outcome, now());
  if (ended !== null || outcome.kind !== 'running' || outcome.firstWatch === undefined) return ended;
  return applyWatched(state, id, sandbox, outcome.firstWatch, now());
}

async function nudge({ spec, state }: Job, sandbox: JobSandbox): Promise<null> {
  state.remedy = null;
  if (spec.nudge != null) await nudgeAgent({ sandbox: refOf(sandbox), endpoint: spec.nudge });
  return null;
}

async function discard({ owner, state }: Job, sandbox: JobSandbox): Promise<null> {
  enterPhase(state, 'provisioning', 'a new sandbox takes the place of this one', now());
  await deleteSandboxes({ owner, sandboxId: sandbox.id, evidence: `${sandbox.incarnation}-discard` });
  applyDiscarded(state, now());
  return null;
}

async function deliver({ id, spec, state }: Job, sandbox: JobSandbox): Promise<null> {
  if (state.answer === null) return null;
  const outcome = await deliverInput({
    sandbox: refOf(sandbox),
    endpoint: spec.input ?? null,
    document: state.answer.document,
  });
  applyDelivered(state, id, outcome, now());
  return null;
}

/** Has the next pauses of the calendar computed. */
export async function plan({ state }: Job): Promise<void> {
  const { pauseWindows, runWindows } = state.settings;
  try {
    state.plan = await planWindows({ pauseWindows, runWindows, from: now() });
  } catch (error) {
    if (isCancellation(error)) throw error;
    warn(state, 'The windows could not be computed; they are left out until that works again.');
    const plannedUntil = new Date(Date.now() + PLAN_AGAIN_MS).toISOString();
    state.plan = { periods: [], plannedUntil };
  }
}

function park(state: JobState, reason: string): void {
  // The API is what is waited for now, whatever the job was parked for before.
  if (state.parked) clearHold(state, 'operator', 'another reason has come', now());
  state.parked = false;
  putHold(state, { kind: 'operator', by: 'longhaul', reason, since: now(), until: null }, now());
}

export function refOf({ id, incarnation }: JobSandbox) {
  return { id, incarnation };
}
