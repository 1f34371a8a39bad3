/** The one error of the client, and how Temporal's errors become it. */

import {
  isGrpcServiceError,
  NamespaceNotFoundError,
  ServiceError,
  WorkflowNotFoundError,
} from '@temporalio/client';
import type { ErrorCode } from '../contract/errors.js';
import type { SpecProblem } from '../contract/problems.schema.js';

export interface ErrorDetails {
  /** What is wrong with a spec, each with its path. */
  readonly problems?: readonly SpecProblem[];
  /** The spec file that the problems are in. */
  readonly file?: string;
  /** What to do about it. */
  readonly remedy?: string;
  readonly cause?: unknown;
}

/** Everything that the client throws. `code` is stable, the message is for people. */
export class LonghaulError extends Error {
  override readonly name = 'LonghaulError';
  readonly code: ErrorCode;
  readonly problems: readonly SpecProblem[];
  readonly file: string | null;
  readonly remedy: string | null;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? {} : { cause: details.cause });
    this.code = code;
    this.problems = details.problems ?? [];
    this.file = details.file ?? null;
    this.remedy = details.remedy ?? null;
  }
}

/** Status codes of gRPC that are told apart here. */
export const GRPC = {
  CANCELLED: 1,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  PERMISSION_DENIED: 7,
  FAILED_PRECONDITION: 9,
  UNAUTHENTICATED: 16,
} as const;

/** The gRPC status of an error of Temporal's client, and what the server said; `null` for other errors. */
export function grpcStatusOf(error: unknown): { readonly code: number; readonly details: string } | null {
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) ? { code: cause.code, details: cause.details } : null;
}

/** Nobody could be asked, so the same call may succeed later. */
export function isUnreachable(error: unknown): error is LonghaulError {
  return (
    error instanceof LonghaulError &&
    (error.code === 'TEMPORAL_UNREACHABLE' || error.code === 'WORKER_UNREACHABLE')
  );
}

export function jobNotFound(jobId: string, cause?: unknown): LonghaulError {
  return new LonghaulError('JOB_NOT_FOUND', `There is no job "${jobId}".`, {
    remedy: 'list the jobs with `longhaul ls`; ended ones are kept as long as the namespace keeps histories',
    cause,
  });
}

/**
 * An error of a call about a job, in the words of the product. Errors of our own pass through.
 * @param address of the Temporal service, for the message.
 */
export function toLonghaulError(error: unknown, address: string, jobId: string | null): LonghaulError {
  if (error instanceof LonghaulError) return error;
  if (error instanceof WorkflowNotFoundError && jobId !== null) return jobNotFound(jobId, error);
  const unreachable = (message: string, remedy: string) =>
    new LonghaulError('TEMPORAL_UNREACHABLE', message, { remedy, cause: error });
  if (error instanceof NamespaceNotFoundError) {
    return unreachable(
      `Temporal at ${address} has no namespace "${error.namespace}".`,
      'set TEMPORAL_NAMESPACE to one that exists',
    );
  }
  const status = grpcStatusOf(error);
  if (status === null && !(error instanceof ServiceError)) {
    const message = error instanceof Error ? error.message : String(error);
    return new LonghaulError('UNEXPECTED', message, { cause: error });
  }
  switch (status?.code) {
    case GRPC.UNAUTHENTICATED:
    case GRPC.PERMISSION_DENIED:
      return unreachable(
        `Temporal at ${address} refused the credentials: ${status.details}.`,
        'check TEMPORAL_API_KEY or the certificates of TEMPORAL_TLS_*',
      );
    case GRPC.INVALID_ARGUMENT:
      return new LonghaulError('UNEXPECTED', `Temporal refused the call: ${status.details}.`, {
        cause: error,
      });
    default:
      return unreachable(
        `Temporal at ${address} did not answer${status === null ? '' : ` (${status.details})`}.`,
        'check that it runs and that the address is right; `longhaul dev` starts one on this machine',
      );
  }
}
