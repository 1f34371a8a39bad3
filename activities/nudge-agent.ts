/** Tells an agent that it seems to be stuck. A nudge that does not arrive is none. */

import type { NudgeInput } from '../contract/activities.js';
import type { Dependencies } from './dependencies.js';
import { INCARNATION_HEADER } from './drain.js';

const TIMEOUT_MS = 10_000;
const ANSWER_MAX_BYTES = 64 * 1024;

export function nudgeAgentWith({ api }: Pick<Dependencies, 'api'>) {
  return async function nudgeAgent({ sandbox, endpoint }: NudgeInput): Promise<void> {
    await api.postThroughProxy(sandbox.id, endpoint.port, endpoint.path, {
      body: {},
      headers: { [INCARNATION_HEADER]: String(sandbox.incarnation) },
      maxBytes: ANSWER_MAX_BYTES,
      timeoutMs: TIMEOUT_MS,
    });
  };
}
