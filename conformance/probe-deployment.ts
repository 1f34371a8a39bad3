/** Finds out what a deployment of the Agent Sandboxes API can do, by doing it. */

import { type Capability, runCheck } from './check.js';
import { CHECKS } from './checks/index.js';
import { Deployment, type DeploymentOptions } from './deployment.js';

export type { Capability } from './check.js';
export type { DeploymentOptions } from './deployment.js';

export interface ProbeOptions extends DeploymentOptions {
  /** Called as each is known. */
  readonly onCapability?: (capability: Capability) => void;
}

/**
 * Creates a handful of sandboxes and deletes them again, also when it fails. Takes some seconds where a create does.
 * Ends after the first check where nobody answers, or the key is not accepted.
 * @throws the signal's reason; Error naming sandboxes that could not be deleted.
 */
export async function probeDeployment(options: ProbeOptions): Promise<Capability[]> {
  return withDeployment(options, async (deployment) => {
    const found: Capability[] = [];
    for (const check of CHECKS) {
      const capability = await runCheck(check, deployment);
      found.push(capability);
      options.onCapability?.(capability);
      if (capability.capability === 'key' && capability.verdict === 'fail') break;
    }
    return found;
  });
}

/** @throws Error naming sandboxes that could not be deleted, unless `work` has thrown. */
export async function withDeployment<T>(
  options: DeploymentOptions,
  work: (deployment: Deployment) => Promise<T>,
): Promise<T> {
  const deployment = new Deployment(options);
  let result: T;
  try {
    result = await work(deployment);
  } catch (error) {
    await deployment.cleanUp();
    throw error;
  }
  const left = await deployment.cleanUp();
  if (left.length > 0) throw new Error(`These sandboxes could not be deleted: ${left.join(', ')}.`);
  return result;
}
