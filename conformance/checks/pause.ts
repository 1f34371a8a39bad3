/** Pause and resume of the shared sandbox, in this order: each check takes it as the one before left it. */

import { ConflictError, SandboxApiError } from '../../activities/sandbox-api/index.js';
import { type Check, type Finding, ok, reasonIn, warn } from '../check.js';
import type { Deployment } from '../deployment.js';

/** A frozen agent does not answer, and no server is waited for any longer than this. */
const PAUSED_READ_MS = 2000;

export const pauseChecks: readonly Check[] = [
  {
    capability: 'pause',
    sentence: 'A pause ends in the state Paused',
    need: 'needed',
    async examine(deployment) {
      const { id } = await deployment.subject();
      const startedMs = performance.now();
      await deployment.api.pause(id, deployment.signal);
      await deployment.untilState(id, 'Paused');
      return ok('yes', `after ${Math.round(performance.now() - startedMs)} ms`);
    },
  },
  {
    capability: 'paused-proxy',
    sentence: 'The agent of a paused sandbox does not answer, and is not said to be gone',
    need: 'needed',
    async examine(deployment) {
      const id = await pausedSubject(deployment);
      const answer = await deployment.read(id, 'state.json', PAUSED_READ_MS);
      switch (answer.kind) {
        case 'answer':
        case 'too-large':
          throw new Error('The agent answered although its sandbox is Paused.');
        case 'sandbox-not-found':
          return warn('said to be gone', 'the lifecycle API decides; it shows the sandbox as Paused');
        default:
          return ok(answer.kind, reasonIn(answer.message));
      }
    },
  },
  {
    capability: 'paused-diagnostics',
    sentence: 'Logs can be read during a pause',
    need: 'useful',
    async examine(deployment) {
      const id = await pausedSubject(deployment);
      const text = await deployment.api.diagnostics(id, 'logs').catch((error: unknown) => error);
      if (typeof text === 'string') return ok('yes', `${text.length} characters`);
      return ok('no', `they are gone with the pod and are saved before the pause: ${String(text)}`);
    },
  },
  {
    capability: 'pause-twice',
    sentence: 'A second pause is refused with 409, or changes nothing',
    need: 'useful',
    examine: async (deployment) =>
      again(await pausedSubject(deployment), 'Paused', deployment, (id) => deployment.api.pause(id)),
  },
  {
    capability: 'resume',
    sentence: 'A resume ends in the state Running, and the agent answers again',
    need: 'needed',
    async examine(deployment) {
      const id = await pausedSubject(deployment);
      const startedMs = performance.now();
      await deployment.api.resume(id, deployment.signal);
      await deployment.untilState(id, 'Running');
      const runningMs = performance.now() - startedMs;
      await deployment.untilReady(id);
      const readyMs = performance.now() - startedMs;
      return ok('yes', `Running after ${Math.round(runningMs)} ms, answer after ${Math.round(readyMs)} ms`);
    },
  },
  {
    capability: 'resume-twice',
    sentence: 'A second resume is refused with 409, or changes nothing',
    need: 'useful',
    examine: async (deployment) =>
      again((await deployment.subject()).id, 'Running', deployment, (id) => deployment.api.resume(id)),
  },
  {
    capability: 'pause-kind',
    sentence: 'It can be told what a pause does to the agent’s process',
    need: 'useful',
    async examine(deployment) {
      const { id, firstState } = await deployment.subject();
      const { boot } = await deployment.untilReady(id);
      return boot === firstState.boot
        ? ok('frozen', 'the same process went on; its memory stays in use during a pause')
        : ok('pod deleted', 'the entrypoint was started anew');
    },
  },
  {
    capability: 'persistence',
    sentence: 'The workspace is there again after a pause',
    need: 'needed',
    examine: examinePersistence,
  },
];

async function examinePersistence(deployment: Deployment): Promise<Finding> {
  const { id, firstState } = await deployment.subject();
  const { persistence } = deployment.options;
  const { boot, starts, mounted } = await deployment.untilReady(id);
  if (boot === firstState.boot) {
    if (mounted === 'yes') return ok(persistence, 'frozen only, but the workspace is a volume of its own');
    const evidence = 'the workspace is part of the container: it ends with it, and a pause only froze it';
    return persistence === 'none' ? ok('none', evidence) : warn(`${persistence} ignored`, evidence);
  }
  if (starts > firstState.starts) return ok(persistence, `start ${starts} found what the first had written`);
  if (persistence === 'none') return warn('none', 'a pause loses the workspace: no job must be paused here');
  throw new Error(`The workspace was empty after the pause, with persistence by "${persistence}".`);
}

/** @throws Error where there was no pause, so that nothing is concluded from it. */
async function pausedSubject(deployment: Deployment): Promise<string> {
  const { id } = await deployment.subject();
  const state = (await deployment.api.get(id, deployment.signal))?.state;
  if (state !== 'Paused') throw new Error(`Not examined: the sandbox is ${state ?? 'gone'}, not Paused.`);
  return id;
}

async function again(
  id: string,
  state: string,
  deployment: Deployment,
  request: (id: string) => Promise<void>,
): Promise<Finding> {
  const error = await request(id).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error !== undefined && !(error instanceof SandboxApiError)) throw error;
  const now = (await deployment.api.get(id, deployment.signal))?.state;
  if (now !== state) return warn('no', `the sandbox is ${now ?? 'gone'} after it`);
  if (error === undefined) return ok('accepted', 'and nothing changed');
  if (error instanceof ConflictError) return ok('refused', `409 ${error.code ?? ''}`.trim());
  return warn('no', error.message);
}
