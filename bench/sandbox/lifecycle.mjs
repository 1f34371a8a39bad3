/** One sandbox after the other, each through all that can happen to it. In milliseconds. */

import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { summarize } from '../../dist/conformance/summary.js';
import { startOnHost } from './agents.mjs';

/** @param rounds besides a first one, which is not counted. */
export async function measureLifecycle(api, agent, rounds) {
  const taken = { create: [], createToAnswer: [], pause: [], resumeToAnswer: [], delete: [] };
  for (let round = -1; round < rounds; round += 1) {
    const note = (step, since) => round >= 0 && taken[step].push(performance.now() - since);
    const created = performance.now();
    const id = await api.create(agent);
    note('create', created);
    await api.untilReady(id, agent.path);
    note('createToAnswer', created);
    const paused = performance.now();
    await api.pause(id);
    note('pause', paused);
    const resumed = performance.now();
    await api.resume(id);
    await api.untilReady(id, agent.path);
    note('resumeToAnswer', resumed);
    const deleted = performance.now();
    await api.delete(id);
    note('delete', deleted);
  }
  return Object.fromEntries(Object.entries(taken).map(([step, ms]) => [step, summarize(ms)]));
}

/** From the spawn of a plain process to its first answer: what no sandbox can be faster than. */
export async function measureOnHost(api, agent, rounds) {
  const taken = [];
  for (let round = 0; round < rounds; round += 1) {
    const port = await freePort();
    const since = performance.now();
    const child = startOnHost(agent, port);
    const isUp = () =>
      api.read({ url: `http://127.0.0.1:${port}${agent.path}`, headers: {} }).then(
        () => true,
        () => false,
      );
    while (!(await isUp())) await sleep(1);
    taken.push(performance.now() - since);
    child.kill('SIGKILL');
  }
  return summarize(taken);
}

export async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
