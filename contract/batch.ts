/**
 * What client, workflow and activities agree on about batches: one job spec over many items. Names and shapes
 * are part of recorded histories.
 */

import type { ErrorCode } from './errors.js';
import type { JobHours } from './status.js';

/** The workflow that takes all items of a batch to their ends; its ID is the batch's. */
export const AGENT_BATCH_WORKFLOW = 'agentBatch';

/**
 * Jobs of one batch that may be in flight. They are started as workflows of their own, not as children, so
 * Temporal's limit of 2,000 pending children does not apply; this one keeps the set of them, which travels with
 * every collection of ends, below 70 KB.
 */
export const MAX_CONCURRENCY = 10_000;

/** `failures`: so many; `percent`: so many of all items, e.g. 5. */
export type StopRule = { readonly failures: number } | { readonly percent: number };

/** What may be changed while a batch lives. */
export interface BatchPolicy {
  /** Jobs in flight at once, paused ones included. */
  readonly concurrency: number;
  /** Starts per second; `null`: as fast as they can be made. */
  readonly ratePerSecond: number | null;
  /** When no further item is started; `null`: never, every item is tried. */
  readonly stopAfter: StopRule | null;
}

/** Temporal's priority of a batch's jobs: 1 is first, 3 is that of single jobs, 5 is last. */
export type PriorityKey = 1 | 2 | 3 | 4 | 5;

/** The argument of the workflow `agentBatch`. */
export interface AgentBatchInput {
  readonly round: BatchRound;
  /** Items that earlier rounds completed. */
  readonly completedBefore: number;
  readonly policy: BatchPolicy;
  readonly priority: PriorityKey;
  /** State of the run before, over continue-as-new; only the workflow itself sets and reads it. */
  readonly carried?: unknown;
  /** Continue as new at this history length instead of the server's suggestion; for tests. */
  readonly continueAsNewAfterEvents?: number;
}

/** One pass over items: the first over all of them, each retry over those that it shall make new attempts at. */
export interface BatchRound {
  readonly batchId: string;
  /** Counts from 1; the attempt of every job in it. */
  readonly number: number;
  /** Where in the store its items and outcomes are; earlier rounds first, this one last. */
  readonly folders: readonly string[];
  /** Items of this round. They are named by their position in it, from 0. */
  readonly total: number;
}

/** What became of an item. `not-started`: the batch was cancelled or stopped before. */
export type ItemEnd = 'completed' | 'failed' | 'cancelled' | 'not-started';

/** One line of the results. Every item has exactly one of each round that it was in. */
export interface ItemOutcome {
  /** The item's ID. */
  readonly item: string;
  /** Line, or number from 1 where there are no lines, in what was submitted. */
  readonly line: number;
  /** Position in what was submitted, from 0. */
  readonly index: number;
  /** Round of the batch, from 1. */
  readonly attempt: number;
  readonly jobId: string | null;
  readonly outcome: ItemEnd;
  readonly code: ErrorCode | null;
  readonly message: string | null;
  /** `null` where no job ran, or nobody could tell any more. */
  readonly hours: JobHours | null;
  /** How many sandboxes were created for it; `null` as with the hours. */
  readonly sandboxes: number | null;
  readonly result: unknown;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
}

/** Failures of one code, with an example. */
export interface FailureCause {
  readonly code: ErrorCode;
  readonly count: number;
  readonly example: { readonly item: string; readonly message: string };
}

export type BatchPhase =
  | 'running'
  /** A person's pause: no starts; jobs are being held. */
  | 'pausing'
  | 'paused'
  | 'resuming'
  /** The breaker is open: only single trials are started. */
  | 'blocked'
  /** `stopAfter` came true: no starts; what is in flight runs to its end. */
  | 'stopping'
  | 'cancelling'
  | FinalBatchPhase;

/** `stopped`: by `stopAfter`; `partially-failed`: all were tried, some failed. */
export type FinalBatchPhase = 'completed' | 'partially-failed' | 'failed' | 'stopped' | 'cancelled';

export interface BatchCounts {
  /** All items of the batch, over all rounds. */
  readonly total: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Started and not ended. */
  readonly inFlight: number;
  /** Not started yet. */
  readonly pending: number;
}

/** Why starts are held back although nobody asked for it. */
export interface OpenBreaker {
  readonly code: ErrorCode;
  readonly message: string;
  readonly failures: number;
  readonly since: string;
  /** When the next single job is tried. */
  readonly nextTrialAt: string;
}

export interface BatchStatus {
  readonly id: string;
  readonly phase: BatchPhase;
  /** What the batch waits for, in words; `null` when it just runs. */
  readonly waitingFor: string | null;
  readonly round: number;
  readonly items: BatchCounts;
  readonly policy: BatchPolicy;
  readonly priority: PriorityKey;
  readonly hold: { readonly by: string; readonly reason: string; readonly since: string } | null;
  readonly breaker: OpenBreaker | null;
  readonly causes: readonly FailureCause[];
  readonly hours: JobHours;
  readonly sandboxes: number;
  /** Ends per second of late, without the time in which the batch was paused; `null`: too few to tell. */
  readonly endsPerSecond: number | null;
  /** `null` while it is paused or blocked, and while there is no rate. */
  readonly remainingMs: number | null;
  readonly startedAt: string;
  readonly endedAt: string | null;
}

/** Update `configure` of a batch: what is absent stays as it is. */
export interface BatchChanges {
  readonly by: string;
  readonly changes: Partial<BatchPolicy>;
}

/** Jobs as they are named in workflows and activities. */
export interface BatchedJobs {
  readonly round: BatchRound;
  /** Positions as `formatPositions` writes them. */
  readonly positions: string;
}

export interface StartJobsInput extends BatchedJobs {
  readonly priority: PriorityKey;
  /** Time between two starts; 0: several at once. */
  readonly spacingMs: number;
  /** As in `CollectEndsInput`. */
  readonly file: number;
}

export interface CollectEndsInput {
  readonly round: BatchRound;
  /** In flight when the collection begins. */
  readonly inFlight: string;
  /** Positions from here on may be started while it goes on. */
  readonly next: number;
  /** ISO 8601, UTC: when the last end that is known was. */
  readonly endsSince: string;
  /** Number of the file for the outcomes; never used twice by a workflow. */
  readonly file: number;
  /** Return also when one of these was seen running; few. */
  readonly awaitedToRun: string;
}

/** Outcomes in short; the full ones are in the store by then. */
export interface EndsReport {
  readonly completed: string;
  readonly cancelled: string;
  readonly failed: readonly {
    readonly code: ErrorCode;
    readonly positions: string;
    readonly example: FailureCause['example'];
  }[];
  readonly hours: JobHours;
  readonly sandboxes: number;
}

export interface CollectEndsOutcome extends EndsReport {
  readonly sawJobRunning: boolean;
  readonly endsSince: string;
}

export type Steering =
  | { readonly to: 'pause'; readonly by: string; readonly reason: string }
  | { readonly to: 'resume'; readonly by: string }
  | { readonly to: 'cancel' };

export interface SteerJobsInput extends BatchedJobs {
  readonly steering: Steering;
  /** Time between two requests. */
  readonly spacingMs: number;
}

export interface FinishRoundInput {
  readonly round: BatchRound;
  /** Why items may be left that were never started, for their outcomes. */
  readonly notStartedBecause: string;
  readonly status: BatchStatus;
}

export interface BatchActivities {
  /** Makes the round known to those who look for the batch in the store. */
  openRound(round: BatchRound): Promise<void>;
  /** Starts the jobs that are not started yet. @returns those that cannot be started, as failures. */
  startJobs(input: StartJobsInput): Promise<EndsReport>;
  /** Waits for ends, writes their outcomes into the store, and returns; also after some minutes without any. */
  collectEnds(input: CollectEndsInput): Promise<CollectEndsOutcome>;
  /** Passes a request on; jobs that are over are left out. */
  steerJobs(input: SteerJobsInput): Promise<void>;
  /** Completes the results: one outcome for every item. */
  finishRound(input: FinishRoundInput): Promise<void>;
}
