/** A local server for the checks. */

import type { DeploymentOptions } from '../../conformance/deployment.js';
import type { PauseKind } from '../../local/sandbox-server/index.js';
import { API_KEY, startTestServer, type TestServer } from '../sandbox-server/support.js';
import type { Examination } from './support.js';

export function localDeployment(pauseKind: PauseKind, more: Partial<DeploymentOptions> = {}): Examination {
  let server: TestServer;
  return {
    limited: [],
    connect: async (): Promise<DeploymentOptions> => {
      server = await startTestServer({ pauseKind });
      return {
        apiUrl: server.url,
        apiKey: API_KEY,
        persistence: 'extensions',
        image: 'node:20-slim',
        agent: 'node',
        storageClass: 'local-path',
        ...more,
      };
    },
    disconnect: () => server.end(),
  };
}
