/** Puts small files into a sandbox through its data plane (execd), which is reached by the API's own proxy. */

import { FormData } from 'undici';
import type { ProxyAnswer, SandboxApi } from './types.js';

/** Where execd listens in every sandbox. */
const EXECD_PORT = 44_772;
const ANSWER_MAX_BYTES = 64 * 1024;
const TIMEOUT_MS = 15_000;

export type PutOutcome =
  | { readonly kind: 'put' }
  | { readonly kind: 'refused' | 'no-answer'; readonly message: string };

/** As far as activities need them. */
export interface SandboxFiles {
  /**
   * Writes the file, and the folders that it lacks; one that is there is replaced. Not every execd does that at
   * once: whoever reads half of it has to read again.
   */
  put(sandboxId: string, path: string, text: string): Promise<PutOutcome>;
}

export function sandboxFiles(api: Pick<SandboxApi, 'postThroughProxy'>): SandboxFiles {
  return {
    async put(sandboxId, path, text) {
      const form = new FormData();
      // A plain field would be refused: both are files to execd.
      form.append('metadata', new Blob([JSON.stringify({ path, mode: 644 })]), 'metadata.json');
      form.append('file', new Blob([text]), 'file');
      const answer = await api.postThroughProxy(sandboxId, EXECD_PORT, 'files/upload', {
        body: form,
        headers: {},
        maxBytes: ANSWER_MAX_BYTES,
        timeoutMs: TIMEOUT_MS,
      });
      return toOutcome(answer);
    },
  };
}

function toOutcome(answer: ProxyAnswer): PutOutcome {
  if (answer.kind !== 'answer')
    return { kind: 'no-answer', message: 'message' in answer ? answer.message : 'too long an answer' };
  if (answer.status >= 200 && answer.status < 300) return { kind: 'put' };
  const message = `the data plane of the sandbox answered ${answer.status}`;
  return { kind: answer.status < 500 ? 'refused' : 'no-answer', message };
}
