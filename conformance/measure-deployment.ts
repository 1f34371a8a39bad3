/** How long a deployment takes for the steps of a job. */

import { type DeploymentOptions, withDeployment } from './probe-deployment.js';
import { type Summary, summarize } from './summary.js';

export const STEPS = ['create', 'createToReady', 'pause', 'resumeToReady', 'delete'] as const;
export type Step = (typeof STEPS)[number];

/** In milliseconds. */
export type Measurement = Readonly<Record<Step, Summary>>;

/**
 * One sandbox after the other, `rounds` times, each through all the steps and then deleted. What is waited for
 * is polled, so that every time to `ready`, and that of a pause, may be 10 % (at least 5 ms) too long.
 * @throws the first error of any step, or the signal's reason.
 */
export async function measureDeployment(options: DeploymentOptions, rounds: number): Promise<Measurement> {
  return withDeployment(options, async (deployment) => {
    const taken: Record<Step, number[]> = {
      create: [],
      createToReady: [],
      pause: [],
      resumeToReady: [],
      delete: [],
    };
    for (let round = 0; round < rounds; round += 1) {
      const begun = clock();
      const { id } = await deployment.create();
      taken.create.push(begun());
      await deployment.untilReady(id);
      taken.createToReady.push(begun());
      const pausing = clock();
      await deployment.api.pause(id, deployment.signal);
      await deployment.untilState(id, 'Paused');
      taken.pause.push(pausing());
      const resuming = clock();
      await deployment.api.resume(id, deployment.signal);
      await deployment.untilReady(id);
      taken.resumeToReady.push(resuming());
      const deleting = clock();
      await deployment.api.delete(id, deployment.signal);
      taken.delete.push(deleting());
    }
    const summaries = STEPS.map((step) => [step, summarize(taken[step])]);
    return Object.fromEntries(summaries) as Measurement;
  });
}

function clock(): () => number {
  const startedMs = performance.now();
  return () => performance.now() - startedMs;
}
