/** Gives the agent the answer to its question: by its endpoint, or as a file in its workspace. */

import type { DeliverInputInput, DeliverInputOutcome } from '../contract/activities.js';
import type { Dependencies } from './dependencies.js';
import { INCARNATION_HEADER } from './drain.js';

/** Where an agent without an endpoint finds its input. */
export const INPUT_FILE = '/workspace/.longhaul/input.json';

const TIMEOUT_MS = 15_000;
const ANSWER_MAX_BYTES = 64 * 1024;
/** Answers that a later try may change. */
const PASSING = [408, 425];

export function deliverInputWith({ api, files }: Pick<Dependencies, 'api' | 'files'>) {
  return async function deliverInput(input: DeliverInputInput): Promise<DeliverInputOutcome> {
    const { sandbox, endpoint, document } = input;
    if (endpoint === null) {
      const outcome = await files.put(sandbox.id, INPUT_FILE, JSON.stringify(document));
      return outcome.kind === 'put' ? { kind: 'delivered' } : outcome;
    }
    const answer = await api.postThroughProxy(sandbox.id, endpoint.port, endpoint.path, {
      body: document,
      headers: {
        [INCARNATION_HEADER]: String(sandbox.incarnation),
        'longhaul-input-id': document.id,
      },
      maxBytes: ANSWER_MAX_BYTES,
      timeoutMs: TIMEOUT_MS,
    });
    switch (answer.kind) {
      case 'answer': {
        const { status } = answer;
        if (status >= 200 && status < 300) return { kind: 'delivered' };
        const message = `the agent answered ${status}`;
        const isFinal = status < 500 && !PASSING.includes(status);
        return { kind: isFinal ? 'refused' : 'no-answer', message };
      }
      case 'too-large':
        return { kind: 'delivered' };
      default:
        return { kind: 'no-answer', message: answer.message };
    }
  };
}
