/**
 * The one decision of a job: what to do next, from what is wanted (holds) and what is (the sandbox).
 * It is a pure function, so a hold that arrives at any moment is honoured at the next decision,
 * and a thousand signals that change nothing lead to no call at all.
 */

import { hasHold } from './holds.js';
import type { JobSandbox, JobState } from './state.js';

export type Step =
  | { readonly do: 'create' }
  | { readonly do: 'watch'; readonly sandbox: JobSandbox }
  | { readonly do: 'pause'; readonly sandbox: JobSandbox }
  | { readonly do: 'resume'; readonly sandbox: JobSandbox }
  /** Somebody paused the sandbox behind our back: see whether they resume it. */
  | { readonly do: 'await-outside-resume'; readonly sandbox: JobSandbox }
  /** Nothing can succeed until a person has acted, e.g. replaced the API key. */
  | { readonly do: 'await-operator' }
  /** Nothing to do until a hold changes. */
  | { readonly do: 'rest' };

/** @param now ISO 8601; transitions that failed are not tried again before `retryAt`. */
export function nextStep(state: JobState, now: string): Step {
  if (hasHold(state.holds, 'operator')) return { do: 'await-operator' };
  const { sandbox } = state;
  const held = state.holds.length > 0;
  const mayTry = state.retryAt === null || state.retryAt <= now;

  if (sandbox === null) return !held && mayTry ? { do: 'create' } : { do: 'rest' };
  if (sandbox.state === 'paused') {
    if (hasHold(state.holds, 'external')) return { do: 'await-outside-resume', sandbox };
    return !held && mayTry ? { do: 'resume', sandbox } : { do: 'rest' };
  }
  const wantsPause = (held && !state.pauseUnsupported) || state.bouncing;
  return wantsPause && mayTry ? { do: 'pause', sandbox } : { do: 'watch', sandbox };
}
