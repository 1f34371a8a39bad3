/** Finding sandboxes, and proving that there is none. */

import { randomUUID } from 'node:crypto';
import { type Check, ok, warn } from '../check.js';
import type { Deployment } from '../deployment.js';

export const listingChecks: readonly Check[] = [
  {
    capability: 'not-found',
    sentence: 'A sandbox that does not exist is a 404 with the code SANDBOX_NOT_FOUND',
    need: 'needed',
    async examine({ api, signal }) {
      const sandbox = await api.get(randomUUID(), signal);
      if (sandbox !== null) throw new Error('A made-up ID was answered with a sandbox.');
      return ok('yes', 'a made-up ID is told to be none');
    },
  },
  {
    capability: 'list',
    sentence: 'The list shows what was created',
    need: 'needed',
    async examine(deployment) {
      const { id, created } = await deployment.subject();
      // Where labels are not shown, the client's own filter would find none.
      const metadata = created.metadata === null ? {} : deployment.label;
      const all = await deployment.api.list({ metadata }, deployment.signal);
      if (!all.some((each) => each.id === id)) throw new Error(`${all.length} sandboxes, without ours.`);
      return ok('yes', `found among ${all.length}`);
    },
  },
  {
    capability: 'metadata-filter',
    sentence: 'The list can be narrowed to a label',
    need: 'useful',
    async examine(deployment) {
      const { id } = await deployment.subject();
      const ours = await page(deployment, { metadata: new URLSearchParams(deployment.label).toString() });
      const none = await page(deployment, { metadata: 'longhaul-conformance=of-nobody' });
      if (!ours.ids.includes(id)) return warn('no', 'a filter by our label does not give our sandbox');
      if (none.ids.length > 0) return warn('no', 'ignored: every sweep reads the whole list');
      return ok('yes', 'ours with our label, none with another');
    },
  },
  {
    capability: 'paging',
    sentence: 'The list comes in pages, and says whether there are more',
    need: 'useful',
    async examine(deployment) {
      await deployment.subject();
      await deployment.create({ persistence: null });
      const filter = { metadata: new URLSearchParams(deployment.label).toString(), pageSize: '1' };
      const first = await page(deployment, { ...filter, page: '1' });
      const second = await page(deployment, { ...filter, page: '2' });
      if (first.ids.length > 1) return warn('no', `a page of 1 had ${first.ids.length}`);
      if (first.ids[0] === second.ids[0]) return warn('no', 'the second page is the first');
      if (first.hasNextPage === undefined) return warn('pages', 'no hasNextPage: read to a short page');
      if (first.hasNextPage === false) return warn('no', 'hasNextPage is false on the first of two pages');
      return ok('yes', 'pages of 1, hasNextPage');
    },
  },
];

async function page(deployment: Deployment, query: Record<string, string>) {
  const { status, json } = await deployment.raw('GET', `/sandboxes?${new URLSearchParams(query)}`);
  if (status !== 200 || !Array.isArray(json?.items))
    throw new Error(`GET /sandboxes was answered ${status}.`);
  return {
    ids: (json.items as { id: string }[]).map(({ id }) => id),
    hasNextPage: json.pagination?.hasNextPage as boolean | undefined,
  };
}
