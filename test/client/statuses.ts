/** Statuses and descriptions for tests of what is made of them. */

import type { JobDescription, PendingActivity } from '../../client/job-description.js';
import type { WatchCursor } from '../../contract/activities.js';
import type { CheckpointSummary } from '../../contract/checkpoint.js';
import type { JobStatus } from '../../contract/status.js';

/** 10:00:00 + so many seconds. */
export function at(seconds: number): string {
  return new Date(Date.parse('2026-03-01T10:00:00Z') + seconds * 1000).toISOString();
}

export function checkpoint(
  step: number,
  readAt: string,
  more: Partial<CheckpointSummary> = {},
): CheckpointSummary {
  return {
    status: 'running',
    step,
    progress: step / 100,
    message: `group ${step}`,
    digest: `sha256:${step}`,
    sizeBytes: 10,
    readAt,
    updatedAt: null,
    wakeAt: null,
    ...more,
  };
}

export function status(more: Partial<JobStatus> = {}): JobStatus {
  return {
    id: 'audit',
    phase: 'running',
    phaseSince: at(0),
    waitingFor: null,
    holds: [],
    checkpoint: checkpoint(1, at(10)),
    verdict: { is: 'ready', since: at(1), because: 'the agent answers' },
    sandbox: { id: 'sb-1', state: 'running', incarnation: 1 },
    hours: { running: 0.5, paused: 0, provisioning: 0.001, wasted: 0 },
    cost: null,
    limits: [],
    question: null,
    nextEdge: null,
    overrideUntil: null,
    recoveryPoint: null,
    kept: null,
    sandboxes: 1,
    restarts: 0,
    receipts: [],
    warnings: [],
    artifacts: [],
    result: null,
    failure: null,
    startedAt: at(-60),
    endedAt: null,
    ...more,
  };
}

export function cursor(more: Partial<WatchCursor> = {}): WatchCursor {
  return {
    checkpoint: checkpoint(5, at(20)),
    unchangedSince: at(20),
    unreadableReads: 0,
    verdict: 'ready',
    verdictSince: at(1),
    because: 'the agent answers',
    ...more,
  };
}

export function pending(more: Partial<PendingActivity> = {}): PendingActivity {
  return {
    type: 'watchSandbox',
    leftBehind: false,
    attempt: 1,
    scheduledAt: at(1),
    lastFailure: null,
    cursor: null,
    pauseStage: null,
    ...more,
  };
}

export function description(more: Partial<JobDescription> = {}): JobDescription {
  return {
    id: 'audit',
    runId: 'run',
    runChainId: 'run',
    execution: 'RUNNING',
    taskQueue: 'longhaul',
    historyLength: 20,
    startedAt: at(-60),
    closedAt: null,
    restingPhase: 'running',
    specDigest: null,
    pending: [],
    ...more,
  };
}
