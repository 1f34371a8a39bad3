/** A job in one line. */

import type { CheckpointSummary } from '../contract/checkpoint.js';
import type { ErrorCode } from '../contract/errors.js';
import type { JobStatus, Phase } from '../contract/status.js';
import type { JobDescription } from './job-description.js';
import { phaseOf } from './job-status.js';

/** Times are ISO 8601 in UTC. */
export interface JobSummary {
  readonly id: string;
  readonly phase: Phase;
  /** Since when it is in this phase; `null` when no worker could be asked. */
  readonly since: string | null;
  readonly waitingFor: string | null;
  readonly checkpoint: Pick<CheckpointSummary, 'step' | 'progress' | 'message'> | null;
  readonly failure: { readonly code: ErrorCode; readonly message: string } | null;
  readonly startedAt: string;
  readonly endedAt: string | null;
}

export function summarize(status: JobStatus): JobSummary {
  const { id, phase, phaseSince, waitingFor, failure, startedAt, endedAt } = status;
  return {
    id,
    phase,
    since: phaseSince,
    waitingFor: waitingFor?.what ?? null,
    checkpoint: shorten(status.checkpoint),
    failure: failure === null ? null : { code: failure.code, message: failure.message },
    startedAt,
    endedAt,
  };
}

/** What Temporal alone can tell: while no worker answers, or of a job that left no status. */
export function summarizeUnasked(description: JobDescription): JobSummary {
  const watch = description.pending.find(({ type, leftBehind }) => type === 'watchSandbox' && !leftBehind);
  return {
    id: description.id,
    phase: phaseOf(description),
    since: description.closedAt,
    waitingFor: description.closedAt === null ? `a worker on task queue "${description.taskQueue}"` : null,
    checkpoint: shorten(watch?.cursor?.checkpoint ?? null),
    failure:
      phaseOf(description) === 'failed'
        ? { code: 'UNEXPECTED', message: `the workflow was ended from outside (${description.execution})` }
        : null,
    startedAt: description.startedAt,
    endedAt: description.closedAt,
  };
}

function shorten(checkpoint: CheckpointSummary | null): JobSummary['checkpoint'] {
  if (checkpoint === null) return null;
  const { step, progress, message } = checkpoint;
  return { step, progress, message };
}
