/**
 * The one decision of a job: what to do next, from what is wanted (holds) and what is (the sandbox).
 * It is a pure function, so a hold that arrives at any moment is honoured at the next decision,
 * and a thousand signals that change nothing lead to no call at all.
 */

import { hasHold } from './holds.js';
import type { JobSandbox, JobState } from './state.js';
import { isAnswerDue } from './waits.js';

export type Step =
  | { readonly do: 'create' }
  | { readonly do: 'watch'; readonly sandbox: JobSandbox }
  | { readonly do: 'pause'; readonly sandbox: JobSandbox }
  | { readonly do: 'resume'; readonly sandbox: JobSandbox }
  /** Tell a stuck agent so. */
  | { readonly do: 'nudge'; readonly sandbox: JobSandbox }
  /** Give up the sandbox, to make a new one. */
  | { readonly do: 'discard'; readonly sandbox: JobSandbox }
  /** Give the agent the answer that it asked for. */
  | { readonly do: 'deliver-input'; readonly sandbox: JobSandbox }
  /** Somebody paused the sandbox behind our back: see whether they resume it. */
  | { readonly do: 'await-outside-resume'; readonly sandbox: JobSandbox }
  /** Nothing can succeed until a person has acted, e.g. replaced the API key. */
  | { readonly do: 'await-operator' }
  /** A limit is reached at which the job is to end. */
  | { readonly do: 'stop' }
  /** Nothing to do until a hold changes. */
  | { readonly do: 'rest' };

/** @param now ISO 8601; transitions that failed are not tried again before `retryAt`. */
export function nextStep(state: JobState, now: string): Step {
  if (hasHold(state.holds, 'operator') && !state.parked) return { do: 'await-operator' };
  const { sandbox } = state;
  const held = state.holds.length > 0;
  const mayTry = state.retryAt === null || state.retryAt <= now;
  const mustStop = state.settings.onLimit === 'stop' && hasHold(state.holds, 'budget');

  if (sandbox === null) {
    if (mustStop) return { do: 'stop' };
    return !held && mayTry ? { do: 'create' } : { do: 'rest' };
  }
  if (state.remedy?.kind === 'recreate') return { do: 'discard', sandbox };
  if (sandbox.state === 'paused') {
    if (mustStop) return { do: 'stop' };
    if (hasHold(state.holds, 'external')) return { do: 'await-outside-resume', sandbox };
    return !held && mayTry ? { do: 'resume', sandbox } : { do: 'rest' };
  }
  if (mustStop && state.pauseUnsupported) return { do: 'stop' };
  const wantsPause = (held && !state.pauseUnsupported) || state.remedy?.kind === 'bounce';
  if (wantsPause && mayTry) return { do: 'pause', sandbox };
  if (state.remedy?.kind === 'nudge') return { do: 'nudge', sandbox };
  if (!held && sandbox.state === 'running' && isAnswerDue(state, now))
    return { do: 'deliver-input', sandbox };
  return { do: 'watch', sandbox };
}
