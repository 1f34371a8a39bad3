/** The key, and how the API names its exchanges. */

import { type Check, ok, warn } from '../check.js';

export const accessChecks: readonly Check[] = [
  {
    capability: 'key',
    sentence: 'The API accepts the key',
    need: 'needed',
    async examine({ api, signal }) {
      await api.checkKey(signal);
      return ok('yes', 'GET /sandboxes was answered');
    },
  },
  {
    capability: 'key-check',
    sentence: 'A request without a key, or with a wrong one, is refused',
    need: 'useful',
    async examine(deployment) {
      const path = '/sandboxes?page=1&pageSize=1';
      const without = await deployment.raw('GET', path, { key: null });
      const wrong = await deployment.raw('GET', path, { key: 'longhaul-wrong-key' });
      const evidence = `without: ${describe(without)}, wrong: ${describe(wrong)}`;
      const refused = [without, wrong].every(({ status }) => status === 401 || status === 403);
      return refused ? ok('yes', evidence) : warn('open to everybody', evidence);
    },
  },
  {
    capability: 'request-id',
    sentence: 'Answers carry a request ID, for a search in the logs of the deployment',
    need: 'useful',
    async examine(deployment) {
      const { headers } = await deployment.raw('GET', '/sandboxes?page=1&pageSize=1');
      const id = headers['x-request-id'];
      if (id === undefined) return warn('no', 'no header x-request-id');
      return ok('yes', `x-request-id: ${id}`);
    },
  },
];

function describe({ status, json }: { status: number; json?: { code?: unknown } }): string {
  return typeof json?.code === 'string' ? `${status} ${json.code}` : `${status}`;
}
