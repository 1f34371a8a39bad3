/**
 * Runs the real workflow in the real time-skipping server against scripted activities, so that days pass
 * in milliseconds and every answer of the world can be had.
 */

import { randomUUID } from 'node:crypto';
import { Context } from '@temporalio/activity';
import type { WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, inject } from 'vitest';
import { checkAnswer } from '../../activities/check-answer.js';
import type {
  Activities,
  CheckSettingsOutcome,
  CollectArtifactsInput,
  CollectArtifactsOutcome,
  CreateOutcome,
  DeliverEventsInput,
  DeliverEventsOutcome,
  DeliverInputInput,
  DeliverInputOutcome,
  PauseOutcome,
  RestoreSnapshotInput,
  RestoreSnapshotOutcome,
  ResumeOutcome,
  TakeSnapshotInput,
  TakeSnapshotOutcome,
  WatchCursor,
  WatchInput,
  WatchOutcome,
} from '../../contract/activities.js';
import type { CheckpointSummary } from '../../contract/checkpoint.js';
import type { AgentJobInput } from '../../contract/job-input.js';
import type { JobSettings, PlannedPause } from '../../contract/job-settings.js';
import { AGENT_JOB_WORKFLOW, SEARCH_ATTRIBUTES, STATUS_QUERY } from '../../contract/messages.js';
import type { JobResult, JobStatus } from '../../contract/status.js';
import type { JobEvent } from '../../contract/timeline.js';
import { spec } from '../support/spec.js';

export { withSettings } from '../support/spec.js';

export const profile = { heartbeatTimeoutMs: 60_000, sliceMs: 3_600_000 };

export function summary(step: number, status: CheckpointSummary['status'] = 'running'): CheckpointSummary {
  const at = new Date().toISOString();
  return {
    status,
    step,
    progress: null,
    message: null,
    digest: `sha256:${step}`,
    sizeBytes: 1,
    readAt: at,
    updatedAt: null,
    wakeAt: null,
  };
}

export function cursor(step: number): WatchCursor {
  const at = new Date().toISOString();
  return {
    checkpoint: summary(step),
    unchangedSince: at,
    unreadableReads: 0,
    verdict: 'ready',
    verdictSince: at,
    because: 'the agent answers',
  };
}

export const ready = (step = 0): WatchOutcome => ({ kind: 'ready', cursor: cursor(step) });
export const sliceOver = (step = 0): WatchOutcome => ({ kind: 'slice-over', cursor: cursor(step) });
export const done = (step = 1, result: unknown = null): WatchOutcome => ({
  kind: 'done',
  cursor: cursor(step),
  result,
  resultOmittedBytes: null,
});

/** A watch in which nothing happens; like a real one it ends when it hears of its cancellation. */
export async function nothingHappens(): Promise<never> {
  const context = Context.current();
  const beating = setInterval(() => context.heartbeat(), 50);
  try {
    return await context.cancelled;
  } finally {
    clearInterval(beating);
  }
}

/**
 * The same for tests in which days pass: time is not skipped while an activity runs, so this one waits for its
 * next attempt instead.
 */
export function nothingHappensForMonths(): never {
  throw ApplicationFailure.create({ message: 'nothing happened yet', nextRetryDelay: '100 days' });
}

/** A create that takes until `finish` is called. */
export function createOnDemand(sandboxId: string) {
  let finish = () => {};
  const gate = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const createSandbox = async (): Promise<CreateOutcome> => {
    await gate;
    return { sandboxId, adopted: false, createdAt: '', profile };
  };
  return { createSandbox, finish: () => finish() };
}

export type Script = Partial<{
  createSandbox: (attempt: number) => CreateOutcome | Promise<CreateOutcome>;
  /** One answer per watch; the default is ready, then done. */
  watchSandbox: (input: WatchInput, count: number) => WatchOutcome | Promise<WatchOutcome>;
  pauseSandbox: (count: number) => PauseOutcome | Promise<PauseOutcome>;
  resumeSandbox: (count: number) => ResumeOutcome | Promise<ResumeOutcome>;
  deleteSandboxes: (count: number) => void | Promise<void>;
  probe: (count: number) => void | Promise<void>;
  deliverInput: (
    input: DeliverInputInput,
    count: number,
  ) => DeliverInputOutcome | Promise<DeliverInputOutcome>;
  deliverEvents: (input: DeliverEventsInput) => DeliverEventsOutcome | Promise<DeliverEventsOutcome>;
  takeSnapshot: (input: TakeSnapshotInput, count: number) => TakeSnapshotOutcome;
  restoreSnapshot: (input: RestoreSnapshotInput, count: number) => RestoreSnapshotOutcome;
  collectArtifacts: (input: CollectArtifactsInput) => CollectArtifactsOutcome;
  checkSettings: (
    changes: unknown,
    current: JobSettings,
  ) => CheckSettingsOutcome | Promise<CheckSettingsOutcome>;
  recordEvents: (events: readonly JobEvent[]) => void | Promise<void>;
  /** What the calendar says; needs a window in the settings. */
  periods: readonly PlannedPause[];
}>;

/** Scripted activities that keep the record of their calls in their order. */
export function scripted(script: Script): { readonly activities: Activities; readonly calls: string[] } {
  const calls: string[] = [];
  const count = (name: string) => {
    calls.push(name);
    return calls.filter((call) => call === name).length;
  };
  // The server's clock, not the machine's: time is skipped.
  const now = () => new Date(Context.current().info.currentAttemptScheduledTimestampMs).toISOString();
  const activities: Activities = {
    async createSandbox() {
      const attempt = count('create');
      const outcome = { sandboxId: `sb-${attempt}`, adopted: false, createdAt: now(), profile };
      return script.createSandbox?.(attempt) ?? outcome;
    },
    async watchSandbox(input) {
      const number = count(`watch ${input.mode}`);
      return script.watchSandbox?.(input, number) ?? (input.mode === 'starting' ? ready() : done());
    },
    async pauseSandbox() {
      const number = count('pause');
      const outcome = { kind: 'paused', requestedAt: now(), observedAt: now(), checkpoint: null } as const;
      return script.pauseSandbox?.(number) ?? outcome;
    },
    async resumeSandbox() {
      const number = count('resume');
      const outcome = { kind: 'running', requestedAt: now(), observedAt: now(), profile } as const;
      return script.resumeSandbox?.(number) ?? outcome;
    },
    async deleteSandboxes({ sandboxId }) {
      const number = count('delete');
      await script.deleteSandboxes?.(number);
      return { deleted: sandboxId === null ? [] : [sandboxId] };
    },
    async probe() {
      const number = count('probe');
      await script.probe?.(number);
    },
    async deliverInput(input) {
      const number = count('deliver input');
      return script.deliverInput?.(input, number) ?? { kind: 'delivered' };
    },
    async deliverEvents(input) {
      const through = input.events.at(-1)?.seq ?? 0;
      return script.deliverEvents?.(input) ?? { deliveredThrough: through, gone: false };
    },
    async planWindows({ from }) {
      const periods = (script.periods ?? []).filter(({ end }) => end > from).slice(0, 4);
      return { periods, plannedUntil: new Date(Date.parse(from) + 400 * 86_400_000).toISOString() };
    },
    async checkSettings({ changes, current }) {
      return (
        script.checkSettings?.(changes, current) ?? {
          kind: 'refused',
          problems: [{ path: '', message: 'no settings in this script' }],
        }
      );
    },
    checkAnswer,
    async takeSnapshot(input) {
      const number = count('snapshot');
      return script.takeSnapshot?.(input, number) ?? { kind: 'not-taken', message: 'not in this script' };
    },
    async restoreSnapshot(input) {
      const number = count('restore');
      return script.restoreSnapshot?.(input, number) ?? { kind: 'restored' };
    },
    async collectArtifacts(input) {
      count('collect');
      return script.collectArtifacts?.(input) ?? { artifacts: [], problems: [] };
    },
    async nudgeAgent() {
      count('nudge');
    },
    async recordEvents({ events }) {
      await script.recordEvents?.(events);
    },
  };
  return { activities, calls };
}

export interface StartedJob {
  readonly handle: WorkflowHandle;
  status(): Promise<JobStatus>;
  result(): Promise<JobResult>;
  /** Waits, in real time, until the status is so. */
  until(condition: (status: JobStatus) => boolean): Promise<JobStatus>;
}

/** Call once in a test file: starts the time-skipping server for it. */
export function useTimeSkipping() {
  return useServer(() =>
    TestWorkflowEnvironment.createTimeSkipping({
      server: { executable: { type: 'existing-path', path: inject('testServer') } },
    }),
  );
}

/**
 * As `useTimeSkipping`, but in real time on a real dev server: what the other one does with signals while a run
 * continues as new is not what Temporal does (sdk-java#1538).
 */
export function useDevServer() {
  return useServer(() =>
    TestWorkflowEnvironment.createLocal({
      server: {
        executable: { type: 'existing-path', path: inject('temporalCli') },
        log: { format: 'pretty', level: 'error' },
      },
    }),
  );
}

function useServer(start: () => Promise<TestWorkflowEnvironment>) {
  let env: TestWorkflowEnvironment;
  beforeAll(async () => {
    Runtime.install({ logger: new DefaultLogger('ERROR') });
    env = await start();
    await registerSearchAttributes(env);
  });
  afterAll(async () => {
    await env?.teardown();
  });

  /** Starts a job on a worker of its own, and stops the worker after `steps`. */
  async function withJob<T>(
    script: Script,
    steps: (job: StartedJob, calls: string[], env: TestWorkflowEnvironment) => Promise<T>,
    input: Partial<AgentJobInput> = {},
  ): Promise<T> {
    const taskQueue = `test-${randomUUID()}`;
    const { activities, calls } = scripted(script);
    const worker = await Worker.create({
      connection: env.nativeConnection,
      taskQueue,
      workflowBundle: { codePath: inject('workflowBundle') },
      activities,
      maxHeartbeatThrottleInterval: 50,
    });
    return worker.runUntil(async () => {
      const handle = await env.client.workflow.start(AGENT_JOB_WORKFLOW, {
        taskQueue,
        workflowId: `job-${randomUUID()}`,
        args: [{ spec, ...input } satisfies AgentJobInput],
      });
      const status = () => handle.query<JobStatus>(STATUS_QUERY);
      const until = async (condition: (status: JobStatus) => boolean) => {
        for (const giveUpAt = Date.now() + 20_000; ; ) {
          const current = await status();
          if (condition(current)) return current;
          if (Date.now() > giveUpAt) throw new Error(`Never so: ${JSON.stringify(current)}`);
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      };
      return steps(
        { handle, status, until, result: () => handle.result() as Promise<JobResult> },
        calls,
        env,
      );
    });
  }

  /** The server's own time, which skipping moves ahead of the machine's. */
  const inMs = async (ms: number) => new Date((await env.currentTimeMs()) + ms).toISOString();

  return { withJob, inMs };
}

async function registerSearchAttributes(env: TestWorkflowEnvironment): Promise<void> {
  await env.connection.operatorService.addSearchAttributes({
    namespace: 'default',
    searchAttributes: Object.fromEntries(Object.keys(SEARCH_ATTRIBUTES).map((name) => [name, 2])),
  });
}
