/** Asks and changes a job by way of its workflow, which needs a worker. */

import { randomUUID } from 'node:crypto';
import { ApplicationFailure, WorkflowUpdateFailedError } from '@temporalio/client';
import { ERROR_CODES, type ErrorCode } from '../contract/errors.js';
import type { SpecProblem } from '../contract/problems.schema.js';
import { LonghaulError } from './errors.js';
import { isNoAnswer, noWorker, WORKER_DEADLINE_MS } from './job-reading.js';
import type { Temporal } from './temporal.js';

/** @throws LonghaulError JOB_NOT_FOUND, WORKER_UNREACHABLE. */
export function askJob<T>(temporal: Temporal, jobId: string, query: string): Promise<T> {
  return temporal.call(
    { jobId, deadlineMs: WORKER_DEADLINE_MS },
    () => temporal.client.workflow.getHandle(jobId).query<T>(query),
    (error) => (isNoAnswer(error) ? noWorker(temporal.config.taskQueue, error) : null),
  );
}

/** @throws LonghaulError with the code of the refusal, or WORKER_UNREACHABLE. */
export function updateJob(
  temporal: Temporal,
  jobId: string,
  update: string,
  request: unknown,
): Promise<unknown> {
  // The update's ID stays the same when the call is repeated below us, so it is carried out once.
  const updateId = randomUUID();
  return temporal.call(
    { jobId, deadlineMs: WORKER_DEADLINE_MS },
    () => temporal.client.workflow.getHandle(jobId).executeUpdate(update, { updateId, args: [request] }),
    (error) => {
      if (error instanceof WorkflowUpdateFailedError) return toRefusal(error);
      return isNoAnswer(error) ? noWorker(temporal.config.taskQueue, error) : null;
    },
  );
}

function toRefusal({ cause, message }: WorkflowUpdateFailedError): LonghaulError {
  if (!(cause instanceof ApplicationFailure) || !isErrorCode(cause.type)) {
    return new LonghaulError('UNEXPECTED', cause?.message ?? message, { cause });
  }
  const [problems] = (cause.details ?? []) as [SpecProblem[]?];
  return new LonghaulError(cause.type, cause.message, { problems: problems ?? [] });
}

function isErrorCode(type: unknown): type is ErrorCode {
  return typeof type === 'string' && type in ERROR_CODES;
}
