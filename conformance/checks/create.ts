/** What a create makes, and how one is refused. */

import { setTimeout as sleep } from 'node:timers/promises';
import { RefusedError } from '../../activities/sandbox-api/index.js';
import { type Echo, SHOWN_VARIABLE } from '../agent.js';
import { type Check, ok, warn } from '../check.js';
import { SHOWN_VALUE } from '../deployment.js';

/** How long a dead entrypoint may go unseen. */
const DEATH_SEEN_MS = 20_000;

export const createChecks: readonly Check[] = [
  {
    capability: 'create',
    sentence: 'A create answers with an ID and a state',
    need: 'needed',
    async examine(deployment) {
      const { created, createMs } = await deployment.subject();
      return ok('yes', `${created.state} after ${Math.round(createMs)} ms`);
    },
  },
  {
    capability: 'ready',
    sentence: 'The agent answers through the proxy after a create',
    need: 'needed',
    async examine(deployment) {
      const { readyMs } = await deployment.subject();
      return ok('yes', `first answer after ${Math.round(readyMs)} ms`);
    },
  },
  {
    capability: 'environment',
    sentence: 'Variables of the environment reach the agent',
    need: 'needed',
    async examine(deployment) {
      const { id } = await deployment.subject();
      const answer = await deployment.read(id, 'cgi-bin/echo');
      if (answer.kind !== 'answer') throw new Error(`The agent did not tell: ${answer.kind}.`);
      const { env } = JSON.parse(answer.body.toString('utf8')) as Echo;
      if (env !== SHOWN_VALUE) throw new Error(`${SHOWN_VARIABLE} was "${env}", not "${SHOWN_VALUE}".`);
      return ok('yes', `${SHOWN_VARIABLE} arrived`);
    },
  },
  {
    capability: 'metadata-echo',
    sentence: 'Labels of a sandbox are shown with it, so that one whose create was cut off is found again',
    need: 'useful',
    async examine(deployment) {
      const { id, created } = await deployment.subject();
      const { label } = deployment;
      const holds = (metadata: Readonly<Record<string, string>> | null | undefined) =>
        Object.entries(label).every(([key, value]) => metadata?.[key] === value);
      const shownLater = holds((await deployment.api.get(id, deployment.signal))?.metadata);
      if (!shownLater) return warn('no', 'after an ambiguous create a sandbox may be left behind');
      return ok('yes', holds(created.metadata) ? 'in create and get' : 'in get only');
    },
  },
  {
    capability: 'refusal',
    sentence: 'A request that can never be carried out is refused as such, and not like an outage',
    need: 'useful',
    async examine(deployment) {
      const refused = await deployment.create({ entrypoint: [] }).catch((error: unknown) => error);
      if (refused instanceof RefusedError) return ok('yes', `an empty entrypoint is a ${refused.status}`);
      if (refused instanceof Error) return warn('no', `an empty entrypoint is a ${refused.name}`);
      return warn('no', 'an empty entrypoint was accepted');
    },
  },
  {
    capability: 'entrypoint-death',
    sentence: 'A sandbox whose entrypoint has died is Failed or Terminated',
    need: 'useful',
    async examine(deployment) {
      const { id } = await deployment.create({
        entrypoint: ['/bin/sh', '-c', 'exit 3'],
        persistence: null,
      });
      const deadlineMs = performance.now() + DEATH_SEEN_MS;
      const seen = new Set<string>();
      while (performance.now() < deadlineMs) {
        const sandbox = await deployment.api.get(id, deployment.signal);
        const state = sandbox?.state ?? 'gone';
        seen.add(state);
        if (state === 'Failed' || state === 'Terminated') {
          return ok(state, `${sandbox?.reason ?? 'no reason'}: ${sandbox?.message ?? 'no message'}`);
        }
        await sleep(100);
      }
      const states = [...seen].join(', ');
      return warn('not shown', `states within ${DEATH_SEEN_MS / 1000} s: ${states}; it may be restarted`);
    },
  },
];
