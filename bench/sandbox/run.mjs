/**
 * How fast the local sandbox server is, and how much it needs, beside a real OpenSandbox server where one is given.
 *
 *     npm run bench:sandbox -- [--rounds N] [--crowd N] [--json FILE]
 *         [--real-url URL --real-key KEY] [--real-node-image IMAGE] [--real-static-image IMAGE]
 *
 * The key of the real one is better given by OPEN_SANDBOX_API_KEY. Timings never fail it.
 */

import { spawn } from 'node:child_process';
import { once, setMaxListeners } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { describeMachine, printMachine, projectVersion } from '../support/machine.mjs';
import { childrenOf } from '../support/processes.mjs';
import { progress, writeJson } from '../support/table.mjs';
import { agents, NODE } from './agents.mjs';
import { BenchApi } from './api.mjs';
import { measureCrowd } from './crowd.mjs';
import { measureLifecycle, measureOnHost } from './lifecycle.mjs';
import { printReport } from './report.mjs';
import { measureTraffic } from './traffic.mjs';

/** A container takes half a second of two cores. */
const REAL_CROWD_MAX = 20;
const MAIN = fileURLToPath(new URL('../../dist/local/sandbox-server/main.js', import.meta.url));

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    crowd: { type: 'string', default: '200' },
    json: { type: 'string' },
    'real-url': { type: 'string' },
    'real-key': { type: 'string' },
    'real-node-image': { type: 'string', default: 'node:20-slim' },
    'real-static-image': { type: 'string', default: 'busybox' },
  },
});
const interrupted = new AbortController();
// Each request of a crowd listens.
setMaxListeners(0, interrupted.signal);
process.once('SIGINT', () => interrupted.abort());
const rounds = Number(values.rounds);
const crowd = Number(values.crowd);

/** A process of its own, so that its memory and CPU time are its own. */
async function startLocal() {
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-bench-'));
  const key = 'bench';
  const child = spawn(process.execPath, [MAIN, '--data', folder], {
    env: { PATH: process.env.PATH, OPEN_SANDBOX_API_KEY: key },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [line] = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`The local sandbox server ended with ${code} before it listened.`);
    }),
  ]);
  const { url, backend } = JSON.parse(line);
  return {
    key,
    url,
    backend,
    pid: child.pid,
    async end() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function measure(name, api, crowdCount, pidsOfServer) {
  const lifecycle = {};
  for (const agent of agents()) {
    progress(`${name}: ${rounds} sandboxes with ${agent.is}…`);
    lifecycle[agent.name] = await measureLifecycle(api, agent, rounds);
  }
  progress(`${name}: ${crowdCount} sandboxes at once…`);
  const crowd = await measureCrowd(api, agents().at(-1), crowdCount, pidsOfServer());
  // Last, since the server keeps the memory that large files took.
  progress(`${name}: requests and large files…`);
  const traffic = await measureTraffic(api, NODE);
  return { lifecycle, traffic, crowd };
}

async function measureLocal() {
  const server = await startLocal();
  const api = new BenchApi({ ...server, image: (agent) => agent, signal: interrupted.signal });
  try {
    const onHost = {};
    for (const agent of agents()) onHost[agent.name] = await measureOnHost(api, agent, rounds);
    // What is there between sandboxes belongs to the server: it has children for its connections.
    const pids = () => [server.pid, ...childrenOf(server.pid)];
    return { backend: server.backend, onHost, ...(await measure('local', api, crowd, pids)) };
  } finally {
    await api.close();
    await server.end();
  }
}

async function measureReal() {
  const images = { node: values['real-node-image'], static: values['real-static-image'] };
  const key = values['real-key'] ?? process.env.OPEN_SANDBOX_API_KEY ?? '';
  const api = new BenchApi({
    url: values['real-url'],
    key,
    image: (agent) => images[agent],
    signal: interrupted.signal,
  });
  try {
    return await measure('real', api, Math.min(crowd, REAL_CROWD_MAX), () => []);
  } finally {
    await api.close();
  }
}

async function main() {
  const machine = describeMachine({ longhaul: projectVersion() });
  printMachine(machine);
  const local = await measureLocal();
  const real = values['real-url'] === undefined ? undefined : await measureReal();
  progress('');
  printReport({ rounds, local, real });
  await writeJson(values.json, { machine, rounds, local, real });
}

await main().catch((error) => {
  if (!interrupted.signal.aborted) throw error;
  process.exitCode = 130;
});
