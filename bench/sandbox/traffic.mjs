/** What a request costs on its way through the server, and how much goes through in a second. */

import { summarize } from '../../dist/conformance/summary.js';
import { LARGE_MIB, startOnHost } from './agents.mjs';
import { freePort } from './lifecycle.mjs';

const REQUESTS = 500;
const LARGE_ROUNDS = 3;

/** By three ways, taken in turn so that all of them meet the same machine; milliseconds a request, MB/s. */
export async function measureTraffic(api, agent) {
  const port = await freePort();
  const onHost = startOnHost(agent, port);
  const id = await api.create(agent);
  try {
    await api.untilReady(id, agent.path);
    const ways = {
      host: async (path) => ({ url: `http://127.0.0.1:${port}${path}`, headers: {} }),
      proxy: async (path) => api.proxied(id, path),
      gateway: (path) => api.direct(id, path),
    };
    const requestMs = await inTurn(api, ways, agent.path, REQUESTS, (ms) => ms);
    const rates = await inTurn(api, ways, '/large', LARGE_ROUNDS, (ms, sizeBytes) => sizeBytes / 1e3 / ms);
    return { requestMs, megabytesPerSecond: rates, largeMib: LARGE_MIB };
  } finally {
    onHost.kill('SIGKILL');
    await api.delete(id);
  }
}

async function inTurn(api, ways, path, rounds, value) {
  const targets = {};
  for (const [way, target] of Object.entries(ways)) targets[way] = await target(path);
  const taken = Object.fromEntries(Object.keys(ways).map((way) => [way, []]));
  for (let round = -1; round < rounds; round += 1) {
    for (const [way, target] of Object.entries(targets)) {
      const since = performance.now();
      const { status, sizeBytes } = await api.read(target);
      if (status !== 200) throw new Error(`${way} ${path}: ${status}`);
      if (round >= 0) taken[way].push(value(performance.now() - since, sizeBytes));
    }
  }
  return Object.fromEntries(Object.entries(taken).map(([way, values]) => [way, summarize(values)]));
}
