/**
 * Every error code of the product. A code is also the `type` of the Temporal failure that carries it,
 * and the `code` in `--json` output. Codes are stable; messages are not.
 */
export const ERROR_CODES = {
  SPEC_INVALID: 'The job spec was refused; every problem is named with its path.',
  JOB_EXISTS: 'A job of this ID exists already.',
  JOB_NOT_FOUND: 'There is no job of this ID.',
  JOB_ENDED: 'The job is over, so it can no longer be told what to do.',
  JOB_CANCELLED: 'The job was cancelled.',
  TEMPORAL_UNREACHABLE: 'The Temporal service did not answer.',
  WORKER_UNREACHABLE: 'No worker answered on the task queue in time.',
  SANDBOX_API_UNREACHABLE: 'The sandbox API did not answer, or answered with a server error.',
  RATE_LIMITED: 'The sandbox API asked to wait.',
  API_KEY_REJECTED: 'The sandbox API refused the API key.',
  QUOTA_EXCEEDED: 'The quota of the sandbox API is used up.',
  SANDBOX_REJECTED: 'The sandbox API refused to create this sandbox as it was asked for.',
  SANDBOX_START_FAILED: 'The sandbox did not start within its deadline.',
  SANDBOX_LOST: 'The sandbox is gone, by the word of the API.',
  RESUME_FAILED: 'The sandbox could not be resumed.',
  AGENT_EXITED: 'The process of the agent ended before it reported that it was done.',
  LIMIT_REACHED: 'The job came to one of its limits, and its spec says to stop there.',
  WORK_LOST: 'The agent came back from a pause with an older checkpoint, and its spec says to fail then.',
  NO_QUESTION: 'The agent has no question open.',
  INPUT_INVALID: 'The answer does not fit what the agent asked for.',
  AGENT_FAILED: 'The agent reported that it failed.',
  AGENT_STALLED: 'The checkpoint did not change for too long, and restarts did not help.',
  CHECKPOINT_UNREADABLE: 'The agent answers, but what it publishes is not a checkpoint.',
  UNEXPECTED: 'Something that should not happen happened; please report it.',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;
