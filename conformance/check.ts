/** What a check of a deployment is, and what comes of it. */

import type { Deployment } from './deployment.js';

export interface Finding {
  /** In a few words, for a table: `yes`, `frozen`, `not checked`. */
  readonly found: string;
  /** `warn`: the client gets by, at the loss that the evidence names. */
  readonly verdict: 'ok' | 'warn';
  /** What was seen that shows it. */
  readonly evidence: string;
}

export interface Check {
  /** Stable and short, for programs: `metadata-echo`. */
  readonly capability: string;
  /** What is expected, as a sentence. */
  readonly sentence: string;
  /** `needed`: without it the client cannot work with this deployment at all. */
  readonly need: 'needed' | 'useful';
  /** @throws Error when it is not as the sentence says; by its `need` that is a failure or a warning. */
  examine(deployment: Deployment): Promise<Finding>;
}

export interface Capability {
  readonly capability: string;
  readonly sentence: string;
  readonly need: Check['need'];
  readonly verdict: 'ok' | 'warn' | 'fail';
  readonly found: string;
  readonly evidence: string;
  readonly tookMs: number;
}

export function ok(found: string, evidence: string): Finding {
  return { found, verdict: 'ok', evidence };
}

export function warn(found: string, evidence: string): Finding {
  return { found, verdict: 'warn', evidence };
}

/** The client's messages name the request, and the reason in brackets at the end. */
export function reasonIn(message: string): string {
  return /\((.+)\)\.$/.exec(message)?.[1] ?? message;
}

/**
 * Runs one check. What is missing never throws.
 * @throws the reason of the deployment's signal, so that an interrupted run does not look like a finding.
 */
export async function runCheck(check: Check, deployment: Deployment): Promise<Capability> {
  const { capability, sentence, need } = check;
  const startedMs = performance.now();
  const outcome = await examine();
  return { capability, sentence, need, ...outcome, tookMs: Math.round(performance.now() - startedMs) };

  async function examine(): Promise<Pick<Capability, 'verdict' | 'found' | 'evidence'>> {
    try {
      return await check.examine(deployment);
    } catch (error) {
      deployment.signal?.throwIfAborted();
      const evidence = error instanceof Error ? error.message : String(error);
      return { verdict: need === 'needed' ? 'fail' : 'warn', found: 'no', evidence };
    }
  }
}
