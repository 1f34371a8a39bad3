/**
 * How many jobs a second a batch takes to their ends, beside the plain fan-out, on the same server with the same
 * stub API. Jobs are trivial, so that only the orchestration is measured.
 *
 *     npm run bench:batch -- [--items N] [--plain-items N] [--concurrency N] [--json FILE]
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { Batches } from '../../dist/client/batches.js';
import { connectionConfig } from '../../dist/client/connection.js';
import { Temporal } from '../../dist/client/temporal.js';
import { SEARCH_ATTRIBUTES } from '../../dist/contract/messages.js';
import { cacheDir } from '../../dist/local/folders.js';
import { findTemporalCli, startDevServer } from '../../dist/local/temporal/index.js';
import { startStubApi } from './stub-api.mjs';

const { values } = parseArgs({
  options: {
    items: { type: 'string', default: '10000' },
    'plain-items': { type: 'string' },
    concurrency: { type: 'string', default: '200' },
    json: { type: 'string' },
  },
});
const items = Number(values.items);
const concurrency = Number(values.concurrency);
// It is slower, and its pace does not change with their number.
const plainItems = Number(values['plain-items'] ?? Math.min(items, 1000));
const EVERY_MS = 1000;
const WARM_UP_ITEMS = 50;
const MIB = 2 ** 20;

/** One contestant on a server of its own with an empty database. */
async function measure(role, count, connect) {
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-bench-'));
  const cli = await findTemporalCli({
    cacheDir: cacheDir(process.env),
    env: process.env,
    log: (line) => console.error(line),
  });
  const server = await startDevServer({
    cliPath: cli.path,
    dbFile: join(folder, 'temporal.db'),
    logFile: join(folder, 'temporal.log'),
    searchAttributes: SEARCH_ATTRIBUTES,
  });
  const api = await startStubApi();
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    TEMPORAL_ADDRESS: server.address,
    OPEN_SANDBOX_API_URL: api.url,
    OPEN_SANDBOX_API_KEY: 'stub',
    LONGHAUL_TASK_QUEUE: 'bench',
    LONGHAUL_STORE: join(folder, 'store'),
    LONGHAUL_LOG_LEVEL: 'error',
    LONGHAUL_PROFILE: 'dev',
    LONGHAUL_STOP_WITH_PARENT: '1',
  };
  const worker = spawn(process.execPath, [fileURLToPath(new URL('worker.mjs', import.meta.url)), role], {
    env,
    // With our end of the pipe the worker ends, too, however this process does.
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  try {
    const contestant = await connect({ env, address: server.address });
    // Neither the start of the process nor cold code shall count.
    await contestant.run('warm-up', WARM_UP_ITEMS);
    const before = { worker: cpuSeconds(worker.pid), server: cpuSeconds(server.pid), startedMs: Date.now() };
    await contestant.run('bench', count);
    const seconds = (Date.now() - before.startedMs) / 1000;
    const cpuMs = (pid, start) => ((cpuSeconds(pid) - start) * 1000) / count;
    const result = {
      jobsPerSecond: count / seconds,
      seconds,
      mostSandboxes: api.counts.mostAlive,
      workerRssMiB: peakRssBytes(worker.pid) / MIB,
      workerCpuMs: cpuMs(worker.pid, before.worker),
      serverCpuMs: cpuMs(server.pid, before.server),
      jobHistoryEvents: (await historyOf(contestant.client, 'bench/i0')).maxHistoryEvents,
      ...(await historyOf(contestant.client, 'bench')),
    };
    await contestant.close();
    if (api.left() > 0) throw new Error(`${role}: ${api.left()} sandboxes are left`);
    return result;
  } finally {
    const ended = once(worker, 'exit');
    worker.kill('SIGTERM');
    await ended;
    await server.stop();
    api.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function connectBatches({ env, address }) {
  const temporal = await Temporal.connect(connectionConfig(env, { address }));
  const batches = new Batches(temporal);
  return {
    client: temporal.client,
    async run(id, count) {
      const batch = await batches.submit({
        id,
        concurrency,
        items: Array.from({ length: count }, (_, index) => ({ id: `i${index}` })),
        job: {
          sandbox: { image: 'stub', entrypoint: ['agent'], env: { ITEM: '{{item.id}}' } },
          checkpoint: { every: `${EVERY_MS}ms` },
        },
      });
      for await (const { items: ended } of batch.watch()) {
        progress(`${id}: ${ended.completed} completed, ${ended.inFlight} in flight, ${ended.failed} failed`);
        if (ended.failed > 0) throw new Error(`${ended.failed} jobs failed`);
      }
    },
    async close() {
      await batches.close();
      await temporal.close();
    },
  };
}

async function connectPlain({ address }) {
  const connection = await Connection.connect({ address });
  const client = new Client({ connection });
  return {
    client,
    async run(workflowId, count) {
      progress(`plain fan-out of ${count} items`);
      const args = [{ from: 0, items: count, concurrency, everyMs: EVERY_MS }];
      await client.workflow.execute('plainFanOut', { workflowId, taskQueue: 'bench', args });
    },
    close: () => connection.close(),
  };
}

/** Runs of a workflow that has ended, and the events of the longest. The list shows the last one a little later. */
async function historyOf(client, workflowId) {
  for (;;) {
    const runs = [];
    for await (const run of client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) runs.push(run);
    const isComplete = runs.length > 0 && runs.every(({ closeTime }) => closeTime !== undefined);
    if (isComplete) {
      const lengths = runs.map(({ historyLength }) => Number(historyLength));
      return { runs: runs.length, maxHistoryEvents: Math.max(...lengths) };
    }
    await sleep(200);
  }
}

function peakRssBytes(pid) {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024;
}

function cpuSeconds(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${text}`);
}

const batch = await measure('longhaul', items, connectBatches);
const plain = await measure('plain', plainItems, connectPlain);
progress('');
const report = {
  items,
  concurrency,
  jobsPerSecond: batch.jobsPerSecond,
  plainItems,
  plainJobsPerSecond: plain.jobsPerSecond,
  ratio: batch.jobsPerSecond / plain.jobsPerSecond,
  maxHistoryEvents: batch.maxHistoryEvents,
  workerRssMiB: batch.workerRssMiB,
  batch,
  plain,
  machine: { cpus: cpus().length, model: cpus()[0]?.model, node: process.version },
};
const round = (number) => Math.round(number * 10) / 10;
const rows = [
  ['', 'batch', 'plain'],
  ['jobs per second', batch.jobsPerSecond, plain.jobsPerSecond],
  ['most sandboxes at once', batch.mostSandboxes, plain.mostSandboxes],
  ['events of a job', batch.jobHistoryEvents, plain.jobHistoryEvents],
  ['events of the longest run of the parent', batch.maxHistoryEvents, plain.maxHistoryEvents],
  ['worker, MiB at most', batch.workerRssMiB, plain.workerRssMiB],
  ['worker, CPU ms a job', batch.workerCpuMs, plain.workerCpuMs],
  ['Temporal, CPU ms a job', batch.serverCpuMs, plain.serverCpuMs],
];
for (const [name, ...cells] of rows) {
  console.log(
    name.padEnd(42) +
      cells.map((cell) => String(typeof cell === 'number' ? round(cell) : cell).padStart(10)).join(''),
  );
}
console.log(
  `\n${round(report.ratio)} times the plain fan-out (${items} and ${plainItems} items, concurrency ${concurrency})`,
);
if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(report, null, 2)}\n`);
