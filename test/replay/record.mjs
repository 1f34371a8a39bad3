/**
 * Records the histories that replay.test.ts replays: node test/replay/record.mjs, after npm run build.
 * Run it when a new interesting path exists; histories that are there already are never recorded again, since
 * they stand for jobs that an earlier version started.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Longhaul } from '../../dist/client/index.js';
import { startStack } from '../../dist/local/dev/index.js';
import { cacheDir } from '../../dist/local/folders.js';
import { findTemporalCli } from '../../dist/local/temporal/index.js';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
const HISTORIES = new URL('histories/', import.meta.url);
const AGENT = readFileSync(new URL('../support/counting-agent.mjs', import.meta.url), 'utf8');

const spec = (units, unitMs) => ({
  sandbox: {
    image: 'node:20-slim',
    entrypoint: ['node', '/workspace/agent.mjs'],
    env: { UNITS: `${units}`, UNIT_MS: `${unitMs}` },
    files: [{ path: '/workspace/agent.mjs', content: AGENT }],
  },
  checkpoint: { every: '200ms', stallAfter: '1m' },
});

async function reach(job, isSo) {
  for await (const status of job.watch()) if (isSo(status)) return;
}

const running = ({ phase }) => phase === 'running';
const paused = ({ phase }) => phase === 'paused';

const PATHS = {
  async completed({ jobs }) {
    const job = await jobs.submit(spec(5, 50));
    await job.result();
    return job;
  },
  async 'paused-and-resumed'({ jobs }) {
    const job = await jobs.submit(spec(30, 100));
    for (const _ of [1, 2]) {
      await reach(job, running);
      await job.pause({ by: 'recorder', reason: 'to record it' });
      await reach(job, paused);
      await job.resume({ by: 'recorder' });
    }
    await job.result();
    return job;
  },
  async 'cancelled-while-paused'({ jobs }) {
    const job = await jobs.submit(spec(1000, 100));
    await reach(job, running);
    await job.pause();
    await reach(job, paused);
    await job.cancel();
    await job.result().catch(() => {});
    return job;
  },
  async 'cancelled-at-once'({ jobs }) {
    const job = await jobs.submit(spec(1000, 100));
    await job.cancel();
    await job.result().catch(() => {});
    return job;
  },
  async 'agent-exited'({ jobs }) {
    const job = await jobs.submit({ sandbox: { image: 'x', entrypoint: ['/no/such/program'] } });
    await job.result().catch(() => {});
    return job;
  },
  async 'worker-killed'({ jobs }, stack) {
    const job = await jobs.submit(spec(50, 100));
    await reach(job, running);
    await sleep(500);
    process.kill(stack.worker.pid, 'SIGKILL');
    await job.result();
    return job;
  },
  async 'still-paused'({ jobs }) {
    const job = await jobs.submit(spec(1000, 100));
    await reach(job, running);
    await job.pause();
    await reach(job, paused);
    return job;
  },
};

const stateDir = await mkdtemp(join(tmpdir(), 'longhaul-record-'));
const stack = await startStack({ stateDir, env: process.env, log: console.error });
const longhaul = await Longhaul.connect({ address: stack.session.temporal.address, env: {} });
const { path: temporal } = await findTemporalCli({
  cacheDir: cacheDir(process.env),
  env: process.env,
  log: console.error,
});
const { address } = stack.session.temporal;
try {
  for (const [name, play] of Object.entries(PATHS)) {
    const file = new URL(`${name}.json`, HISTORIES);
    if (existsSync(file)) continue;
    const job = await play(longhaul, stack);
    const show = ['workflow', 'show', '--workflow-id', job.id, '--output', 'json', '--address', address];
    // Stack traces name the folder in which this was recorded; it is nobody's business.
    const history = execFileSync(temporal, show, { encoding: 'utf8', maxBuffer: 64 * 2 ** 20 });
    await writeFile(file, history.replaceAll(PROJECT, '/app/'));
    console.error(`recorded ${name}`);
  }
} finally {
  await longhaul.close();
  await stack.stop();
  await rm(stateDir, { recursive: true, force: true });
}
