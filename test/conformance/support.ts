/** The checks of a deployment as tests, each by its sentence. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Capability, runCheck } from '../../conformance/check.js';
import { CHECKS } from '../../conformance/checks/index.js';
import { Deployment, type DeploymentOptions } from '../../conformance/deployment.js';

/** Capabilities by name, as far as they are known. */
export type Found = Map<string, Capability>;

export interface Examination {
  /** Called once, when it begins. */
  readonly connect: () => Promise<DeploymentOptions>;
  readonly disconnect?: () => Promise<void>;
  /** Capabilities that may be limited there. */
  readonly limited: readonly string[];
}

/** @returns what is found; filled while the tests run. */
export function describeDeployment(name: string, { connect, disconnect, limited }: Examination): Found {
  const found: Found = new Map();
  describe(name, () => {
    let deployment: Deployment;
    beforeAll(async () => {
      deployment = new Deployment(await connect());
    });
    afterAll(async () => {
      const left = await deployment.cleanUp();
      await disconnect?.();
      expect(left).toEqual([]);
    });

    test.each(CHECKS.map((check) => [check.sentence, check] as const))('%s', async (_, check) => {
      const capability = await runCheck(check, deployment);
      found.set(capability.capability, capability);
      const accepted = limited.includes(check.capability) ? ['ok', 'warn'] : ['ok'];
      expect(accepted, `${capability.found}: ${capability.evidence}`).toContain(capability.verdict);
    });
  });
  return found;
}
