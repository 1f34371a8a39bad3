/** How sandboxes end: by a delete, and by their time. */

import { SandboxNotFoundError } from '../../activities/sandbox-api/index.js';
import { type Check, ok, warn } from '../check.js';

/** The shortest that servers accept. */
const SHORTEST_TIMEOUT_S = 60;

export const endingChecks: readonly Check[] = [
  {
    capability: 'expiry',
    sentence: 'A sandbox can be given a time to live, which can be put off',
    need: 'useful',
    async examine(deployment) {
      const made = await deployment.createRaw({ timeout: SHORTEST_TIMEOUT_S });
      if (made.status >= 300) return warn('no', `a create with timeout was answered with ${made.status}`);
      const { id } = made.json;
      const shown = await deployment.raw('GET', `/sandboxes/${id}`);
      if (typeof shown.json?.expiresAt !== 'string')
        return warn('not shown', 'no expiresAt: timeout ignored?');
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
      const renewed = await deployment.raw('POST', `/sandboxes/${id}/renew-expiration`, {
        body: { expiresAt },
      });
      if (renewed.status !== 200) return warn('not renewable', `renew-expiration: ${renewed.status}`);
      return ok('yes', 'expiresAt is shown and was renewed');
    },
  },
  {
    capability: 'delete-paused',
    sentence: 'A paused sandbox can be deleted, and is then gone',
    need: 'needed',
    async examine(deployment) {
      const { id } = await deployment.create();
      await deployment.untilReady(id);
      await deployment.api.pause(id, deployment.signal);
      await deployment.untilState(id, 'Paused');
      await deployment.api.delete(id, deployment.signal);
      return ok('yes', await untilGone(deployment, id));
    },
  },
  {
    capability: 'delete',
    sentence: 'A deleted sandbox is gone, from the list too, and a second delete does no harm',
    need: 'needed',
    async examine(deployment) {
      const { id } = await deployment.subject();
      await deployment.api.delete(id, deployment.signal);
      const how = await untilGone(deployment, id);
      const metadata = deployment.label;
      const listed = await deployment.api.list({ metadata }, deployment.signal);
      if (listed.some((each) => each.id === id && each.state !== 'Terminated')) {
        throw new Error('The list still shows it.');
      }
      await deployment.api.delete(id, deployment.signal);
      return ok('yes', how);
    },
  },
  {
    capability: 'pause-deleted',
    sentence: 'A pause of a deleted sandbox says that there is none',
    need: 'useful',
    async examine(deployment) {
      const { id } = await deployment.subject();
      const error = await deployment.api.pause(id).catch((reason: unknown) => reason);
      if (error instanceof SandboxNotFoundError) return ok('yes', `404 ${error.code}`);
      return warn('no', error instanceof Error ? error.message : 'it was accepted');
    },
  },
];

async function untilGone(deployment: Parameters<Check['examine']>[0], id: string): Promise<string> {
  const startedMs = performance.now();
  let last = '';
  const how = await deployment.poll(
    'the sandbox to be gone',
    async () => {
      last = (await deployment.api.get(id, deployment.signal))?.state ?? '404';
      return last === '404' || last === 'Terminated' ? last : undefined;
    },
    () => `last state: ${last}`,
  );
  return `${how} after ${Math.round(performance.now() - startedMs)} ms`;
}
