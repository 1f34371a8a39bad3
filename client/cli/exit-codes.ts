/** What scripts may rely on. */

import type { ErrorCode } from '../../contract/errors.js';
import type { Phase } from '../../contract/status.js';

export const EXIT = {
  DONE: 0,
  JOB_FAILED: 1,
  USAGE: 2,
  UNREACHABLE: 3,
  NOT_FOUND: 4,
  CANCELLED: 5,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export const EXIT_CODES_HELP = `Exit codes:
  0  done
  1  the job failed
  2  wrong usage, or a spec that was refused
  3  Temporal, the worker or the sandbox API could not be reached
  4  there is no such job, or it asks nothing
  5  the job was cancelled`;

/** For a command that could not do what it was asked to. */
export function exitCodeOf(code: ErrorCode): ExitCode {
  switch (code) {
    case 'SPEC_INVALID':
    case 'JOB_EXISTS':
    case 'INPUT_INVALID':
      return EXIT.USAGE;
    case 'TEMPORAL_UNREACHABLE':
    case 'WORKER_UNREACHABLE':
    case 'SANDBOX_API_UNREACHABLE':
    case 'RATE_LIMITED':
    case 'API_KEY_REJECTED':
      return EXIT.UNREACHABLE;
    case 'JOB_NOT_FOUND':
    case 'JOB_ENDED':
    case 'NO_QUESTION':
      return EXIT.NOT_FOUND;
    case 'JOB_CANCELLED':
      return EXIT.CANCELLED;
    default:
      return EXIT.JOB_FAILED;
  }
}

/** For a command that followed a job to its end. */
export function exitCodeOfEnd(phase: Phase): ExitCode {
  if (phase === 'completed') return EXIT.DONE;
  return phase === 'cancelled' ? EXIT.CANCELLED : EXIT.JOB_FAILED;
}
