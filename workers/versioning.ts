/**
 * Worker Deployment Versioning: a job stays on the build that started it, and moves to the current one when it
 * continues as new. Off unless the environment names a version, since it needs deployments in which old and new
 * workers run side by side.
 */

import type { WorkerDeploymentOptions } from '@temporalio/worker';

export interface VersioningVariables {
  readonly TEMPORAL_DEPLOYMENT_NAME?: string | undefined;
  readonly TEMPORAL_WORKER_BUILD_ID?: string | undefined;
}

/** One of the two variables is missing, or Temporal would refuse it. The message names the variable. */
export class VersioningError extends Error {
  override readonly name = 'VersioningError';
}

/**
 * @returns the options for the worker; `undefined` when neither variable is set.
 * @throws VersioningError
 */
export function workerDeployment(env: VersioningVariables): WorkerDeploymentOptions | undefined {
  const deploymentName = env.TEMPORAL_DEPLOYMENT_NAME || undefined;
  const buildId = env.TEMPORAL_WORKER_BUILD_ID || undefined;
  if (deploymentName === undefined && buildId === undefined) return undefined;
  if (deploymentName === undefined || buildId === undefined) {
    const missing = buildId === undefined ? 'TEMPORAL_WORKER_BUILD_ID' : 'TEMPORAL_DEPLOYMENT_NAME';
    throw new VersioningError(`${missing} is missing: a version has a deployment's name and a build's ID.`);
  }
  if (/[.:]|^__/.test(deploymentName)) {
    throw new VersioningError('TEMPORAL_DEPLOYMENT_NAME must not contain "." or ":", nor begin with "__".');
  }
  return {
    version: { deploymentName, buildId },
    useWorkerVersioning: true,
    // Jobs live for days: none may change its code in the middle of a run.
    defaultVersioningBehavior: 'PINNED',
  };
}
