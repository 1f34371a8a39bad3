/** Turns what the sandbox API refused or failed to do into what Temporal should do about it. */

import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import type { ErrorCode } from '../contract/errors.js';
import {
  KeyRejectedError,
  QuotaExceededError,
  RateLimitedError,
  SandboxApiError,
  StartFailedError,
  UnreachableError,
} from './sandbox-api/index.js';

/** Longest wait that a `Retry-After` may impose; a server that asks for more is asked again after this. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/** The failure for an error of the sandbox API; any other error is returned as it is. */
export function toFailure(error: unknown): unknown {
  if (!(error instanceof SandboxApiError)) return error;
  const { message } = error;
  if (error instanceof KeyRejectedError) return final('API_KEY_REJECTED', message);
  if (error instanceof QuotaExceededError) return final('QUOTA_EXCEEDED', message);
  if (error instanceof StartFailedError) return final('SANDBOX_START_FAILED', message);
  if (error instanceof RateLimitedError) return later('RATE_LIMITED', message, error.retryAfterMs);
  if (error instanceof UnreachableError) return later('SANDBOX_API_UNREACHABLE', message, null);
  return final('SANDBOX_REJECTED', message);
}

/** A failure that no retry can cure. */
export function final(type: ErrorCode, message: string): ApplicationFailure {
  return ApplicationFailure.create({ type, message, nonRetryable: true });
}

/** A failure that a retry may cure: expected in the life of a system, so it is no error in logs and metrics. */
export function later(type: ErrorCode, message: string, retryAfterMs: number | null): ApplicationFailure {
  return ApplicationFailure.create({
    type,
    message,
    category: ApplicationFailureCategory.BENIGN,
    ...(retryAfterMs === null ? {} : { nextRetryDelay: Math.min(retryAfterMs, MAX_RETRY_AFTER_MS) }),
  });
}

/** Lets an activity throw errors of the sandbox API as they are. */
export function withFailures<Input, Outcome>(
  activity: (input: Input) => Promise<Outcome>,
): (input: Input) => Promise<Outcome> {
  return async (input) => {
    try {
      return await activity(input);
    } catch (error) {
      throw toFailure(error);
    }
  };
}
