/** The figures beside what they should be. */

import { printTable, shown, shownSummary } from '../support/table.mjs';

/** @param real undefined where none was given. */
export function printReport({ rounds, local, real }) {
  const node = local.lifecycle.node;
  const small = local.lifecycle.static;
  const { requestMs, megabytesPerSecond, largeMib } = local.traffic;
  const { server, readyMs, count, agent, deleteMs } = local.crowd;
  const overhead = ({ requestMs }) => requestMs.proxy.p50 - requestMs.host.p50;
  const lines = [
    row('create → first 200, Node.js, ms', node.createToAnswer, 150, real?.lifecycle.node.createToAnswer),
    row('  of it the create, ms', node.create, null, real?.lifecycle.node.create),
    row('  the same agent without a sandbox, ms', local.onHost.node, null, undefined),
    ...(small === undefined
      ? []
      : [
          row(
            'create → first 200, busybox, ms',
            small.createToAnswer,
            60,
            real?.lifecycle.static.createToAnswer,
          ),
          row('  of it the create, ms', small.create, null, real?.lifecycle.static.create),
          row('  the same agent without a sandbox, ms', local.onHost.static, null, undefined),
        ]),
    row('pause → Paused, ms', node.pause, 20, real?.lifecycle.node.pause),
    row('resume → 200, Node.js, ms', node.resumeToAnswer, 120, real?.lifecycle.node.resumeToAnswer),
    ...(small === undefined
      ? []
      : [row('resume → 200, busybox, ms', small.resumeToAnswer, 120, real?.lifecycle.static.resumeToAnswer)]),
    row('delete, ms', node.delete, 20, real?.lifecycle.node.delete),
    row('a request through the proxy, ms', requestMs.proxy, null, real?.traffic.requestMs.proxy),
    row('a request through the gateway, ms', requestMs.gateway, null, real?.traffic.requestMs.gateway),
    row('a request to the host, ms', requestMs.host, null, undefined),
    single('the proxy’s part of it, ms', overhead(local.traffic), 1, real && overhead(real.traffic)),
    fast('gateway, MB/s', megabytesPerSecond.gateway, 500, real?.traffic.megabytesPerSecond.gateway),
    fast('proxy, MB/s', megabytesPerSecond.proxy, null, real?.traffic.megabytesPerSecond.proxy),
    fast('host, MB/s', megabytesPerSecond.host, null, undefined),
    single(`${count} at once (${agent}), all ready, s`, readyMs.max / 1000, 10, undefined),
    single(`${count} deleted at once, s`, deleteMs / 1000, null, undefined),
    single('server’s memory then, MiB', server.rssMib, 150, undefined),
    single('server’s memory before, MiB', server.idleRssMib, null, undefined),
    single('server’s memory a sandbox, KiB', server.rssKibPerSandbox, null, undefined),
    single('server’s CPU time a sandbox, ms', server.cpuMsPerSandbox, null, undefined),
  ];
  console.log(
    `Local server (${local.backend})${real ? ' beside a real one' : ''}, ${rounds} rounds, p50 / p95\n`,
  );
  const head = ['', 'local', 'goal', '', ...(real ? ['real'] : [])];
  printTable([head, ...lines.map((line) => (real ? line : line.slice(0, 4)))]);
  console.log(`\nLarge files have ${largeMib} MiB. A round that is not counted comes first.`);
  if (real) {
    const { count, readyMs } = real.crowd;
    console.log(`The real server had ${count} sandboxes ready within ${shown(readyMs.max / 1000)} s.`);
  }
}

function row(name, local, goal, real) {
  return [name, shownSummary(local), ...judged(goal, local.p50 <= goal, '≤'), shownSummary(real)];
}

function single(name, local, goal, real) {
  return [name, shown(local), ...judged(goal, local <= goal, '≤'), shown(real)];
}

function fast(name, local, goal, real) {
  return [name, shown(local.p50), ...judged(goal, local.p50 >= goal, '≥'), shown(real?.p50)];
}

function judged(goal, isMet, sign) {
  return goal === null ? ['', ''] : [`${sign} ${goal}`, isMet ? 'met' : 'missed'];
}
