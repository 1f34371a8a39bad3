/**
 * A real OpenSandbox server has all that the client relies on, and the local one is found to be the same, differences
 * with a reason aside. Give its URL and key by OPENSANDBOX_TEST_URL and OPENSANDBOX_TEST_KEY; an image with a shell and
 * node, python3 or busybox by OPENSANDBOX_TEST_IMAGE.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHECKS } from '../../conformance/checks/index.js';
import { Deployment, type RawReply } from '../../conformance/deployment.js';
import { COMPARED, type ComparedRequest } from './compared-requests.js';
import { DIFFERENCES } from './differences.js';
import { localDeployment } from './local-deployment.js';
import { describeDeployment } from './support.js';

const {
  OPENSANDBOX_TEST_URL: apiUrl,
  OPENSANDBOX_TEST_KEY: apiKey,
  OPENSANDBOX_TEST_IMAGE: image = 'python:3.12-slim',
} = process.env;

/** What vanilla servers lack or leave open, and the client gets by without. */
const LIMITED = ['proxy-key-check', 'execd'];
/** Depends on what was put into the server's image of it. */
const NOT_COMPARED = ['execd'];

if (apiUrl === undefined || apiKey === undefined) {
  test.skip('a real server: OPENSANDBOX_TEST_URL and OPENSANDBOX_TEST_KEY are not given', () => undefined);
} else {
  const persistence = 'volumes';
  const realOptions = {
    apiUrl,
    apiKey,
    persistence,
    image,
    agent: 'auto',
    storageClass: 'local-path',
  } as const;
  const real = describeDeployment('a real server', {
    limited: LIMITED,
    connect: async () => realOptions,
  });
  const local = describeDeployment('the local server beside it', localDeployment('frozen', { persistence }));

  describe('both are found to be the same in', () => {
    const compared = CHECKS.map(({ capability }) => capability).filter(
      (name) => !NOT_COMPARED.includes(name),
    );
    test.each(compared)('%s', (name) => {
      const { because, ...expected } = DIFFERENCES[name] ?? {};
      const seen = { real: real.get(name)?.found, local: local.get(name)?.found };
      if (because === undefined) expect(seen.local).toBe(seen.real);
      else expect(seen).toEqual(expected);
    });
  });

  describe('both answer alike to', () => {
    const beside = localDeployment('frozen', { persistence });
    let deployments: { readonly real: Deployment; readonly local: Deployment };
    beforeAll(async () => {
      deployments = { real: new Deployment(realOptions), local: new Deployment(await beside.connect()) };
      await Promise.all(Object.values(deployments).map((each) => each.subject()));
    });
    afterAll(async () => {
      await Promise.all(Object.values(deployments).map((each) => each.cleanUp()));
      await beside.disconnect?.();
    });

    test.each(COMPARED.map((request) => [request.name, request] as const))('%s', async (_, request) => {
      const real = outcome(await send(deployments.real, request));
      const local = outcome(await send(deployments.local, request));
      if (request.because === undefined) expect(local).toBe(real);
      // A difference that has gone must not be claimed any longer.
      else expect(local, request.because).not.toBe(real);
    });
  });
}

async function send(
  deployment: Deployment,
  { method, path, create, body }: ComparedRequest,
): Promise<RawReply> {
  if (create !== undefined) return deployment.createRaw(create);
  const { id } = await deployment.subject();
  return deployment.raw(method, path.replace('{id}', id), body === undefined ? {} : { body });
}

/** The status, and what an error says of its kind and its place; `DOCKER::` and the like are left out. */
function outcome({ status, json }: RawReply): string {
  if (typeof json?.code === 'string') return `${status} ${json.code.replace(/^(DOCKER|LOCAL)::/, '')}`;
  if (!Array.isArray(json?.detail)) return `${status}`;
  const issues = json.detail.map(
    ({ type, loc }: { type: string; loc: unknown[] }) => `${type} at ${loc.join('.')}`,
  );
  return `${status} ${issues.join(', ')}`;
}
