/** Finds sandboxes whose job is over, by a workflow: only workers know the sandbox API. */

import { randomUUID } from 'node:crypto';
import { JANITOR_WORKFLOW, type JanitorInput, type JanitorReport } from '../contract/janitor.js';
import type { Temporal } from './temporal.js';

export interface SweepOptions {
  /** Delete them. @default false */
  readonly apply?: boolean;
  /** Leave younger sandboxes alone, in ms. @default 900000 */
  readonly minAgeMs?: number;
  /** Time between the two looks, in ms. @default 15000 */
  readonly confirmAfterMs?: number;
  /** @default 100 */
  readonly maxDeletes?: number;
}

/** A sweep takes as long as the API takes to delete. */
const DEADLINE_MS = 30 * 60_000;

/**
 * Looks twice; what was an orphan both times is told and, with `apply`, deleted.
 * @throws LonghaulError TEMPORAL_UNREACHABLE, also when no worker carries it out in time.
 */
export async function sweep(temporal: Temporal, options: SweepOptions = {}): Promise<JanitorReport> {
  const { apply = false, minAgeMs = 15 * 60_000, confirmAfterMs = 15_000, maxDeletes = 100 } = options;
  const input: JanitorInput = { apply, minAgeMs, confirmAfterMs, maxDeletes };
  return temporal.call({ jobId: null, deadlineMs: DEADLINE_MS }, () =>
    temporal.client.workflow.execute(JANITOR_WORKFLOW, {
      taskQueue: temporal.config.taskQueue,
      workflowId: `janitor-${randomUUID()}`,
      args: [input],
    }),
  );
}
