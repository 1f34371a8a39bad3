/**
 * The workflow `agentJob`: takes one agent in one sandbox to its end.
 * It only wires: what to do next is decided in next-step.ts, what came of it is written down in outcomes.ts.
 */

import {
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  defineQuery,
  isCancellation,
  log,
  setDefaultSignalHandler,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { AgentJobInput } from '../../contract/job-input.js';
import { PAUSE_SIGNAL, PHASE_ATTRIBUTE, RESUME_SIGNAL, STATUS_QUERY } from '../../contract/messages.js';
import type { JobResult, JobStatus } from '../../contract/status.js';
import {
  createSandbox,
  deleteSandboxes,
  pauseSandbox,
  probe,
  resumeSandbox,
  watchWith,
} from './activities.js';
import { failureOf, isParkedBy } from './failures.js';
import { CLEARED_BY_RESUME, clearHolds, readRequest, setHold } from './holds.js';
import { switchMeter } from './meter.js';
import { nextStep, type Step } from './next-step.js';
import {
  applyCreated,
  applyPaused,
  applyResumed,
  applyStartFailed,
  applyWatched,
  type End,
  failed,
} from './outcomes.js';
import { enterPhase, type JobSandbox, type JobState, newJobState } from './state.js';
import { toStatus } from './status.js';

const statusQuery = defineQuery<JobStatus>(STATUS_QUERY);
const phaseAttribute = { name: PHASE_ATTRIBUTE, type: 'KEYWORD' } as const;

/**
 * @returns the agent's result and the final status.
 * @throws ApplicationFailure whose type is an `ErrorCode` and whose first detail is the final status.
 */
export async function agentJob(input: AgentJobInput): Promise<JobResult> {
  const { spec } = input;
  const { workflowId: jobId, firstExecutionRunId: runChainId } = workflowInfo();
  const owner = { jobId, runChainId };
  const state = (input.carried as JobState | undefined) ?? newJobState(now());

  // Handlers first: a signal may lie in wait from before the first task.
  setHandler(statusQuery, () => toStatus(jobId, state, now()));
  // One handler for all names: with one for each, signals that lay in wait together would be handed over name by
  // name, so that a resume before a pause would undo it. Seen at continue-as-new under a storm of signals.
  setDefaultSignalHandler((name, request) => {
    if (name === PAUSE_SIGNAL) {
      const { by, reason } = readRequest(request);
      state.holds = setHold(state.holds, { kind: 'manual', by, reason, since: now(), until: null });
    } else if (name === RESUME_SIGNAL) {
      state.holds = clearHolds(state.holds, CLEARED_BY_RESUME);
    } else {
      log.warn('ignored a signal of an unknown name', { signal: name });
    }
  });

  const end = await runToEnd();
  enterPhase(state, 'collecting', now());
  await CancellationScope.nonCancellable(cleanUp);
  return close(end);

  async function runToEnd(): Promise<End> {
    try {
      for (;;) {
        // A transition that was awaited through a cancellation ends here.
        if (CancellationScope.current().consideredCancelled) return { as: 'cancelled' };
        if (isTimeForNewRun()) await continueAsNew<typeof agentJob>({ ...input, carried: state });
        showRestingPhase();
        const ended = await perform(nextStep(state, now()));
        if (ended !== null) return ended;
      }
    } catch (error) {
      if (isCancellation(error)) return { as: 'cancelled' };
      const failure = failureOf(error);
      if (failure === null) throw error;
      return failed(failure.code, failure.message);
    }
  }

  /** Does one step. What only a person can mend parks the job instead of failing it. */
  async function perform(step: Step): Promise<End | null> {
    try {
      switch (step.do) {
        case 'create':
          return await create();
        case 'watch':
          return await watch(step.sandbox);
        case 'pause':
          return await pause(step.sandbox);
        case 'resume':
          return await resume(step.sandbox);
        case 'await-outside-resume':
          await whileDue(step, () => probe({ until: 'not-paused', sandboxId: step.sandbox.id }));
          if (nextStep(state, now()).do === step.do) state.holds = clearHolds(state.holds, ['external']);
          return null;
        case 'await-operator':
          await whileDue(step, () => probe({ until: 'api-accepts-key' }));
          state.holds = clearHolds(state.holds, ['operator']);
          return null;
        case 'rest':
          await whileDue(step);
          return null;
      }
    } catch (error) {
      const reason = isParkedBy(error);
      if (reason === null) throw error;
      park(reason);
      return null;
    }
  }

  async function create(): Promise<End | null> {
    enterPhase(state, 'provisioning', now());
    state.meter = switchMeter(state.meter, 'provisioning', now());
    state.epoch += 1;
    try {
      const outcome = await createSandbox({ owner, epoch: state.epoch, sandbox: spec.sandbox });
      applyCreated(state, outcome, now());
      return null;
    } catch (error) {
      const failure = failureOf(error);
      state.meter = switchMeter(state.meter, null, now());
      if (failure?.code !== 'SANDBOX_START_FAILED') throw error;
      return applyStartFailed(state, failure.message, now());
    }
  }

  async function watch(sandbox: JobSandbox): Promise<End | null> {
    const outcome = await whileDue({ do: 'watch', sandbox }, () =>
      watchWith(sandbox.profile)({
        sandbox: { id: sandbox.id, incarnation: sandbox.incarnation },
        checkpoint: spec.checkpoint,
        profile: sandbox.profile,
        mode: sandbox.state === 'starting' ? 'starting' : 'running',
        cursor: state.cursor,
      }),
    );
    return outcome === undefined ? null : applyWatched(state, sandbox, outcome, now());
  }

  async function pause(sandbox: JobSandbox): Promise<End | null> {
    enterPhase(state, 'pausing', now());
    const { id, incarnation } = sandbox;
    const outcome = await pauseSandbox({ sandbox: { id, incarnation }, checkpoint: spec.checkpoint });
    const ended = applyPaused(state, sandbox, outcome, now());
    if (sandbox.state !== 'paused')
      enterPhase(state, sandbox.state === 'running' ? 'running' : 'provisioning', now());
    return ended;
  }

  async function resume(sandbox: JobSandbox): Promise<End | null> {
    enterPhase(state, 'resuming', now());
    state.meter = switchMeter(state.meter, 'provisioning', now());
    const outcome = await resumeSandbox({ sandbox: { id: sandbox.id, incarnation: sandbox.incarnation } });
    return applyResumed(state, sandbox, outcome, now());
  }

  /** Returns when nothing of the job is left in the API, however long that takes. */
  async function cleanUp(): Promise<void> {
    while (state.epoch > 0 && state.sandbox?.state !== 'deleted') {
      try {
        await deleteSandboxes({ owner, sandboxId: state.sandbox?.id ?? null });
        state.meter = switchMeter(state.meter, null, now());
        if (state.sandbox === null) return;
        state.sandbox.state = 'deleted';
      } catch (error) {
        const reason = isParkedBy(error);
        if (reason === null) throw error;
        park(reason);
        await whileDue({ do: 'await-operator' }, () => probe({ until: 'api-accepts-key' }));
        state.holds = clearHolds(state.holds, ['operator']);
      }
    }
  }

  function close(end: End): JobResult {
    state.endedAt = now();
    state.holds = [];
    enterPhase(state, end.as, state.endedAt);
    if (end.as === 'completed') {
      state.result = end.result;
      return { result: end.result, status: toStatus(jobId, state, state.endedAt) };
    }
    if (end.as === 'cancelled') throw new CancelledFailure('The job was cancelled.');
    const { code, message, logs } = end;
    state.failure = { code, message, logs };
    throw ApplicationFailure.create({
      type: code,
      message,
      nonRetryable: true,
      details: [toStatus(jobId, state, state.endedAt)],
    });
  }

  /**
   * Does `work`, but leaves it at once when another step has become due, e.g. by a signal or because
   * a failed transition may be tried again. Without `work` it just waits for that.
   */
  async function whileDue<T>(step: Step, work?: () => Promise<T>): Promise<T | undefined> {
    const isOver = () => nextStep(state, now()).do !== step.do;
    const scope = new CancellationScope();
    try {
      return await scope.run(async () => {
        const other = waitFor(isOver).then(() => undefined);
        return work === undefined ? await other : await Promise.race([work(), other]);
      });
    } finally {
      scope.cancel();
    }
  }

  /** Resolves when `isTrue`, also if it becomes true only by the passing of `retryAt`. */
  async function waitFor(isTrue: () => boolean): Promise<void> {
    const retryInMs = state.retryAt === null ? 0 : Date.parse(state.retryAt) - Date.now();
    if (retryInMs > 0 && (await condition(isTrue, retryInMs, { summary: 'until the next try' }))) return;
    await condition(isTrue);
  }

  function park(reason: string): void {
    state.holds = setHold(state.holds, {
      kind: 'operator',
      by: 'longhaul',
      reason,
      since: now(),
      until: null,
    });
  }

  /** The phases in which a job may rest for days are searchable; each change costs one event. */
  function showRestingPhase(): void {
    if (state.phase !== 'running' && state.phase !== 'paused') return;
    if (state.shownPhase === state.phase) return;
    state.shownPhase = state.phase;
    upsertSearchAttributes([{ key: phaseAttribute, value: state.phase }]);
  }

  function isTimeForNewRun(): boolean {
    const { continueAsNewSuggested, historyLength } = workflowInfo();
    return (
      continueAsNewSuggested || historyLength >= (input.continueAsNewAfterEvents ?? Number.POSITIVE_INFINITY)
    );
  }
}

function now(): string {
  return new Date().toISOString();
}
