/**
 * The workflow `agentBatch`: takes every item to its end, at most `concurrency` at once. Jobs are workflows of
 * their own that know nothing of the batch: it starts them by their deterministic IDs and looks for their ends.
 * Three loops share one state; what they may do is decided in rules.ts.
 */

import {
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  defineQuery,
  defineUpdate,
  log,
  setDefaultSignalHandler,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { AgentBatchInput, BatchChanges, BatchStatus, Steering } from '../../contract/batch.js';
import { formatPositions } from '../../contract/batch-positions.js';
import {
  CONFIGURE_UPDATE,
  PAUSE_SIGNAL,
  type PauseRequest,
  RESUME_SIGNAL,
  STATUS_QUERY,
} from '../../contract/messages.js';
import { collectEnds, finishRound, openRound, startJobs, steerJobs } from './activities.js';
import { runClock } from './pace.js';
import {
  applyEnds,
  applyRunning,
  awaitedToRun,
  closeBreaker,
  startable,
  startsAreOver,
  trialInMs,
} from './rules.js';
import { carry, newBatchState, restore, type Told } from './state.js';
import { toStatus } from './status.js';

const statusQuery = defineQuery<BatchStatus>(STATUS_QUERY);
const configureUpdate = defineUpdate<BatchStatus, [BatchChanges]>(CONFIGURE_UPDATE);

/** Jobs that one activity steers: about two seconds of requests, after which somebody may have changed his mind. */
const STEER_CHUNK = 50;
/** Time between two requests to pause or resume, so that thousands of jobs do not ask the API in one second. */
const STEER_SPACING_MS = 40;

/** @returns the final status, which is also in the store, like the results. */
export async function agentBatch(input: AgentBatchInput): Promise<BatchStatus> {
  const { round } = input;
  const { total } = round;
  const state = input.carried === undefined ? newBatchState(input, now()) : restore(input.carried);
  /** First position of those that are being started right now. */
  let startingFrom: number | null = null;

  setHandler(statusQuery, () => toStatus(input, state, now()));
  setHandler(
    configureUpdate,
    ({ changes }) => {
      state.policy = { ...state.policy, ...changes };
      return toStatus(input, state, now());
    },
    { validator: checkChanges },
  );
  // One handler for all names keeps the order of signals that lay in wait together.
  setDefaultSignalHandler((name, request) => {
    const { by = 'unknown', reason = 'asked to pause' } = (request ?? {}) as Partial<PauseRequest>;
    if (name === PAUSE_SIGNAL) {
      state.hold = { by, reason, since: now() };
    } else if (name === RESUME_SIGNAL) {
      state.hold = null;
      state.resumedBy = by;
      closeBreaker(state);
    } else {
      log.warn('ignored a signal of an unknown name', { signal: name });
    }
    tickClock();
  });
  // Cancellation is a state of the batch: its jobs are to be cancelled and its results to be completed.
  CancellationScope.current().cancelRequested.catch(() => {
    state.cancelRequested = true;
  });

  return CancellationScope.nonCancellable(async () => {
    if (input.carried === undefined) await openRound(round);
    await Promise.all([startItems(), collect(), steer()]);
    if (!isDone()) {
      await condition(allHandlersFinished);
      return continueAsNew<typeof agentBatch>({ ...input, policy: state.policy, carried: carry(state) });
    }
    return finish();
  });

  async function startItems(): Promise<void> {
    for (;;) {
      await condition(() => isLeaving() || startable(state, round, now()) > 0 || awaitsTrial());
      if (isLeaving()) return;
      const waitMs = trialInMs(state, total, now());
      if (waitMs !== null) {
        await condition(() => isLeaving() || !awaitsTrial(), waitMs, { summary: 'until the next trial' });
        continue;
      }
      await startSome(startable(state, round, now()));
    }
  }

  /** Their places are taken before anything is started, so that the window never holds too many. */
  async function startSome(count: number): Promise<void> {
    const positions = Array.from({ length: count }, (_, index) => state.next + index);
    state.next += count;
    for (const position of positions) state.inFlight.add(position);
    if (state.breaker !== null) state.breaker.trial = positions[0] ?? null;
    const { ratePerSecond } = state.policy;
    const spacingMs = ratePerSecond === null ? 0 : 1000 / ratePerSecond;
    startingFrom = positions[0] ?? null;
    const refused = await startJobs({
      round,
      positions: formatPositions(positions),
      priority: input.priority,
      spacingMs,
      file: nextFile(),
    });
    startingFrom = null;
    applyEnds(state, refused, now());
    tickClock();
    const mustStop = () => isLeaving() || state.hold !== null;
    if (spacingMs > 0 && !startsAreOver(state, total)) await condition(mustStop, spacingMs);
  }

  async function collect(): Promise<void> {
    for (;;) {
      await condition(() => isLeaving() || state.inFlight.size > 0);
      if (isLeaving()) return;
      const trials = awaitedToRun(state);
      const awaited = formatPositions(trials);
      const outcome = await unless(
        () => isLeaving() || formatPositions(awaitedToRun(state)) !== awaited,
        () =>
          collectEnds({
            round,
            inFlight: formatPositions(state.inFlight),
            next: startingFrom ?? state.next,
            endsSince: state.endsSince,
            file: nextFile(),
            awaitedToRun: awaited,
          }),
      );
      if (outcome === undefined) continue;
      state.endsSince = outcome.endsSince;
      applyEnds(state, outcome, now());
      if (outcome.sawJobRunning) applyRunning(state, trials);
      tickClock();
    }
  }

  /** Tells the jobs in flight what they have not been told yet. */
  async function steer(): Promise<void> {
    for (;;) {
      await condition(() => isLeaving() || (wanted() !== state.told && startingFrom === null));
      if (isLeaving()) return;
      const want = wanted();
      state.told = 'mixed';
      const jobs = [...state.inFlight];
      for (let first = 0; first < jobs.length && wanted() === want && !isLeaving(); first += STEER_CHUNK) {
        const positions = formatPositions(jobs.slice(first, first + STEER_CHUNK));
        await steerJobs({ round, positions, steering: steeringTo(want), spacingMs: STEER_SPACING_MS });
      }
      if (wanted() === want && !isLeaving()) state.told = want;
      tickClock();
    }
  }

  /** Never the same twice: what an activity that was left behind writes late must not replace anything. */
  function nextFile(): number {
    state.file += 1;
    return state.file;
  }

  function wanted(): Exclude<Told, 'mixed'> {
    if (state.cancelRequested) return 'cancel';
    return state.hold === null ? 'run' : 'hold';
  }

  function steeringTo(want: Exclude<Told, 'mixed'>): Steering {
    if (want === 'cancel') return { to: 'cancel' };
    if (want === 'run' || state.hold === null) return { to: 'resume', by: state.resumedBy };
    return { to: 'pause', by: state.hold.by, reason: state.hold.reason };
  }

  async function finish(): Promise<BatchStatus> {
    const status = toStatus(input, state, now(), true);
    const notStartedBecause = state.cancelRequested
      ? 'The batch was cancelled before this item was started.'
      : `The batch was stopped after ${state.failed} failures, before this item was started.`;
    await finishRound({ round, notStartedBecause, status });
    if (state.cancelRequested) throw new CancelledFailure('The batch was cancelled.');
    return status;
  }

  /** Does `work`, but leaves it behind when there is something else to do. */
  async function unless<T>(isOther: () => boolean, work: () => Promise<T>): Promise<T | undefined> {
    const scope = new CancellationScope();
    try {
      return await scope.run(() => Promise.race([work(), condition(isOther).then(() => undefined)]));
    } finally {
      scope.cancel();
    }
  }

  function isDone(): boolean {
    return state.inFlight.size === 0 && startsAreOver(state, total);
  }

  function isLeaving(): boolean {
    return isDone() || isTimeForNewRun();
  }

  /** A new run would not know that it was cancelled; what is left to do then is bounded by what is in flight. */
  function isTimeForNewRun(): boolean {
    const { continueAsNewSuggested, historyLength } = workflowInfo();
    const limit = input.continueAsNewAfterEvents ?? Number.POSITIVE_INFINITY;
    return !state.cancelRequested && (continueAsNewSuggested || historyLength >= limit);
  }

  function awaitsTrial(): boolean {
    return trialInMs(state, total, now()) !== null;
  }

  function tickClock(): void {
    state.pace = runClock(state.pace, state.hold === null && state.breaker === null, now());
  }
}

/** What the client has checked; this only keeps others from bringing the window to nonsense. */
function checkChanges({ changes }: BatchChanges): void {
  const limit = changes?.concurrency;
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1)) {
    throw ApplicationFailure.nonRetryable('concurrency must be a whole number from 1', 'SPEC_INVALID');
  }
}

function now(): string {
  return new Date().toISOString();
}
