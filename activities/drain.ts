/** Asks an agent to write its checkpoint before its process is stopped. Never fails: the pause goes on anyway. */

import type { SandboxRef } from '../contract/activities.js';
import type { DrainSpec } from '../contract/job-spec.js';
import { formatDuration } from '../contract/quantities.js';
import type { DrainReport } from '../contract/status.js';
import type { ProxyAnswer, SandboxApi } from './sandbox-api/index.js';

/** The answer itself is not looked at. */
const ANSWER_MAX_BYTES = 64 * 1024;

/** The header by which a request names the start of the agent that it is meant for. */
export const INCARNATION_HEADER = 'longhaul-incarnation';

export async function drain(api: SandboxApi, sandbox: SandboxRef, spec: DrainSpec): Promise<DrainReport> {
  const startMs = Date.now();
  const report = (kind: DrainReport['kind'], detail: string): DrainReport => ({
    kind,
    detail,
    tookMs: Date.now() - startMs,
  });
  let answer: ProxyAnswer;
  try {
    answer = await api.postThroughProxy(sandbox.id, spec.port, spec.path, {
      body: {},
      headers: { [INCARNATION_HEADER]: String(sandbox.incarnation) },
      maxBytes: ANSWER_MAX_BYTES,
      timeoutMs: spec.timeoutMs,
    });
  } catch (error) {
    return report('no-answer', error instanceof Error ? error.message : String(error));
  }
  switch (answer.kind) {
    case 'answer': {
      const detail = `the agent answered ${answer.status}`;
      return report(answer.status >= 200 && answer.status < 300 ? 'drained' : 'refused', detail);
    }
    case 'too-large':
      return report('drained', 'the agent answered at length');
    default: {
      const isOver = Date.now() - startMs >= spec.timeoutMs;
      return report(
        'no-answer',
        isOver ? `no answer within ${formatDuration(spec.timeoutMs)}` : answer.message,
      );
    }
  }
}
