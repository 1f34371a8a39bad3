/** Reads the failures of activities: which code they carry, and whether a person can cure them. */

import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import { ERROR_CODES, type ErrorCode } from '../../contract/errors.js';

/** Codes for which the job is parked under the `operator` hold instead of failed. */
const PARKING: readonly ErrorCode[] = ['API_KEY_REJECTED', 'QUOTA_EXCEEDED'];

/** The code and message of an activity's failure; `null` for any other error, which is a bug in the workflow. */
export function failureOf(error: unknown): { readonly code: ErrorCode; readonly message: string } | null {
  if (!(error instanceof ActivityFailure)) return null;
  const { cause } = error;
  const type = cause instanceof ApplicationFailure ? cause.type : undefined;
  const message = cause?.message ?? error.message;
  return isErrorCode(type)
    ? { code: type, message }
    : { code: 'UNEXPECTED', message: `${error.activityType}: ${message}` };
}

/** Why an operator is needed before any retry can succeed; `null` for failures of another kind. */
export function isParkedBy(error: unknown): string | null {
  const failure = failureOf(error);
  return failure !== null && PARKING.includes(failure.code) ? failure.message : null;
}

function isErrorCode(type: string | null | undefined): type is ErrorCode {
  return typeof type === 'string' && type in ERROR_CODES;
}
