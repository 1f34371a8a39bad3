/** Logs, events and inspect, which are saved before a pause and when an agent fails. */

import { type Check, ok, warn } from '../check.js';
import type { Deployment } from '../deployment.js';

export const diagnosticsChecks: readonly Check[] = [
  {
    capability: 'logs',
    sentence: 'The agent’s output can be read as logs',
    need: 'useful',
    async examine(deployment) {
      const { id, firstState } = await deployment.subject();
      // Log drivers are some moments behind.
      const found = async () => {
        const text = await deployment.api.diagnostics(id, 'logs', { tailLines: 100 });
        return text.includes(firstState.boot) || undefined;
      };
      await deployment.poll('the agent’s line in the logs', found, () => 'it is not in them', 10_000);
      return forms(deployment, id, 'logs?scope=container', 'logs');
    },
  },
  {
    capability: 'events',
    sentence: 'Events of the sandbox can be read',
    need: 'useful',
    async examine(deployment) {
      const { id } = await deployment.subject();
      await deployment.api.diagnostics(id, 'events');
      return forms(deployment, id, 'events?scope=runtime', 'events');
    },
  },
  {
    capability: 'inspect',
    sentence: 'A description of the sandbox by its runtime can be read',
    need: 'useful',
    async examine(deployment) {
      const { id } = await deployment.subject();
      const text = await deployment.api.diagnostics(id, 'inspect');
      return text.trim() === '' ? warn('empty', 'no text') : ok('yes', `${text.length} characters`);
    },
  },
];

async function forms(deployment: Deployment, id: string, scoped: string, plain: string) {
  const found: string[] = [];
  const statuses: string[] = [];
  for (const path of [scoped, plain]) {
    const { status, json } = await deployment.raw('GET', `/sandboxes/${id}/diagnostics/${path}`);
    statuses.push(`${path}: ${status}`);
    if (status === 200) found.push(typeof json?.content === 'string' ? 'JSON' : 'text');
  }
  return ok([...new Set(found)].join(' and ') || 'none', statuses.join(', '));
}
