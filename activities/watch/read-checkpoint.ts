/** One read of the checkpoint through the API's proxy. */

import { CHECKPOINT_MAX_BYTES } from '../../contract/checkpoint.js';
import type { CheckpointSpec } from '../../contract/job-spec.js';
import type { SandboxApi } from '../sandbox-api/index.js';
import { type ParsedCheckpoint, parseCheckpoint } from './parse-checkpoint.js';

export type Reading =
  | ParsedCheckpoint
  /** Nothing of the agent came back; only the state of the sandbox can tell what that means. */
  | { readonly kind: 'no-answer'; readonly why: string };

/**
 * @throws KeyRejectedError, RateLimitedError, and the reason of the signal.
 */
export async function readCheckpoint(
  api: SandboxApi,
  sandboxId: string,
  spec: CheckpointSpec,
  options: { readonly timeoutMs?: number; readonly signal?: AbortSignal },
): Promise<Reading> {
  const answer = await api.readThroughProxy(sandboxId, spec.port, spec.path, {
    maxBytes: CHECKPOINT_MAX_BYTES,
    ...options,
  });
  switch (answer.kind) {
    case 'answer':
      // Either the agent's own, or the API refuses the key without saying so: its word decides.
      if (answer.status === 401 || answer.status === 403) await api.checkKey(options.signal);
      return parseCheckpoint(answer.status, answer.body, new Date().toISOString());
    case 'too-large':
      return {
        kind: 'unreadable',
        why: `the checkpoint is too large: ${answer.sizeBytes} bytes, the limit is ${answer.limitBytes}`,
      };
    default:
      return { kind: 'no-answer', why: answer.message };
  }
}
