/**
 * The workflow `agentJob`: takes one agent in one sandbox to its end. It only wires: what to do next is decided
 * in next-step.ts, done in steps.ts, and what came of it is written down in outcomes.ts and watched.ts.
 */

import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  defineQuery,
  isCancellation,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { AgentJobInput } from '../../contract/job-input.js';
import type { JobSettings } from '../../contract/job-settings.js';
import { PHASE_ATTRIBUTE, SETTINGS_QUERY, STATUS_QUERY, TIMELINE_QUERY } from '../../contract/messages.js';
import type { JobResult, JobStatus } from '../../contract/status.js';
import type { JobEvent } from '../../contract/timeline.js';
import { advance } from './clock.js';
import { type End, failed } from './end.js';
import { finish } from './ending.js';
import { writeEventLog } from './event-log.js';
import { failureOf } from './failures.js';
import { type Job, now } from './job.js';
import { handleMessages } from './messages.js';
import { nextStep, type Step } from './next-step.js';
import { createNotifier, type Notifier } from './notifier.js';
import { takeSnapshots } from './snapshots.js';
import { type JobState, newJobState } from './state.js';
import { toStatus } from './status.js';
import { perform, plan } from './steps.js';
import { isPlanUsedUp } from './windows.js';

const statusQuery = defineQuery<JobStatus>(STATUS_QUERY);
const timelineQuery = defineQuery<readonly JobEvent[]>(TIMELINE_QUERY);
const settingsQuery = defineQuery<JobSettings>(SETTINGS_QUERY);
const phaseAttribute = { name: PHASE_ATTRIBUTE, type: 'KEYWORD' } as const;

/** Steps that may last for days: what happened before is written down first. */
const RESTING: readonly Step['do'][] = ['watch', 'rest', 'await-outside-resume', 'await-operator'];

/**
 * @returns the agent's result and the final status.
 * @throws ApplicationFailure whose type is an `ErrorCode` and whose first detail is the final status.
 */
export async function agentJob(input: AgentJobInput): Promise<JobResult> {
  const { spec } = input;
  const { workflowId: id, firstExecutionRunId: runChainId } = workflowInfo();
  const state: JobState = { ...newJobState(id, spec, now()), ...(input.carried as JobState | undefined) };
  const job: Job = { id, owner: { jobId: id, runChainId }, input, spec, state };

  // Handlers first: a signal may lie in wait from before the first task.
  setHandler(statusQuery, () => toStatus(id, state, now()));
  setHandler(timelineQuery, () => state.timeline.events);
  setHandler(settingsQuery, () => state.settings);
  handleMessages(state, id);

  const notifier = createNotifier(state, job.owner);
  const beside = new CancellationScope();
  beside.run(() => takeSnapshots(job)).catch(() => {});
  const end = await runToEnd(job, notifier);
  beside.cancel();
  return await CancellationScope.nonCancellable(() => finish(job, notifier, end));
}

async function runToEnd(job: Job, notifier: Notifier): Promise<End> {
  const { id, input, state } = job;
  try {
    for (;;) {
      // A transition that was awaited through a cancellation ends here.
      if (CancellationScope.current().consideredCancelled) return { as: 'cancelled' };
      if (isTimeForNewRun(input)) {
        await condition(allHandlersFinished);
        await continueAsNew<typeof agentJob>({ ...input, carried: state });
      }
      notifier.adjust();
      if (isPlanUsedUp(state, now())) await plan(job);
      advance(state, id, now());
      showRestingPhase(state);
      const step = nextStep(state, now());
      if (RESTING.includes(step.do)) await writeEventLog(job);
      const ended = await perform(job, step);
      if (ended !== null) return ended;
    }
  } catch (error) {
    // An activity that was told to end and lost its worker fails by its timeout: nobody tries it again.
    const wasCancelled = isCancellation(error) || CancellationScope.current().consideredCancelled;
    if (wasCancelled) return { as: 'cancelled' };
    const failure = failureOf(error);
    if (failure === null) throw error;
    return failed(failure.code, failure.message);
  }
}

/** The phases in which a job may rest for days are searchable; each change costs one event. */
function showRestingPhase(state: JobState): void {
  if (state.phase !== 'running' && state.phase !== 'paused') return;
  if (state.shownPhase === state.phase) return;
  state.shownPhase = state.phase;
  upsertSearchAttributes([{ key: phaseAttribute, value: state.phase }]);
}

function isTimeForNewRun({ continueAsNewAfterEvents = Number.POSITIVE_INFINITY }: AgentJobInput): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  return continueAsNewSuggested || historyLength >= continueAsNewAfterEvents;
}
