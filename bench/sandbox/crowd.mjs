/** Many sandboxes asked for in the same instant, and what the server needs while they are there. */

import { summarize } from '../../dist/conformance/summary.js';
import { usageOfAll } from '../support/processes.mjs';

/** @param pids of the server's own processes; empty where it is not ours to look at. */
export async function measureCrowd(api, agent, count, pids) {
  const before = usageOfAll(pids);
  const since = performance.now();
  const readyMs = [];
  const ids = await Promise.all(
    Array.from({ length: count }, async () => {
      const id = await api.create(agent);
      await api.untilReady(id, agent.path);
      readyMs.push(performance.now() - since);
      return id;
    }),
  );
  const during = usageOfAll(pids);
  const deletingSince = performance.now();
  await Promise.all(ids.map((id) => api.delete(id)));
  const deleteMs = performance.now() - deletingSince;
  const server = {
    idleRssMib: before.rssMib,
    rssMib: during.rssMib,
    rssKibPerSandbox: ((during.rssMib - before.rssMib) * 1024) / count,
    cpuMsPerSandbox: ((during.cpuSeconds - before.cpuSeconds) * 1000) / count,
  };
  return {
    count,
    agent: agent.name,
    readyMs: summarize(readyMs),
    deleteMs,
    ...(pids.length > 0 && { server }),
  };
}
