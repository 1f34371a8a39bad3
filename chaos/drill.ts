/**
 * A drill: jobs with work that can be counted, while whatever can go wrong goes wrong, and a watchman beside
 * them. At the end everything must add up.
 */

import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type JobHandle, type JobStatus, Longhaul } from '../client/index.js';
import { startStack } from '../local/dev/index.js';
import { disturb, type Scene, type Tally } from './disturbances.js';
import { chaosJob } from './jobs.js';
import { chanceOf } from './random.js';
import { type DrillApi, drillApi } from './sandbox-api.js';
import { findSecret } from './secrets.js';

export interface DrillOptions {
  readonly seed: number;
  readonly jobs: number;
  /** How long things go wrong. */
  readonly disturbMs: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: (line: string) => void;
}

export interface DrillReport extends Tally {
  readonly seed: number;
  readonly jobs: number;
  readonly completed: number;
  readonly cancelled: number;
  readonly violations: readonly string[];
}

const UNIT_MS = 250;
const LOOK_EVERY_MS = 200;
/** After the last disturbance every job must be over within this. */
const SETTLE_MS = 5 * 60_000;

export async function runDrill(options: DrillOptions): Promise<DrillReport> {
  const { seed, jobs: count, disturbMs, env, log } = options;
  const stateDir = await mkdtemp(join(tmpdir(), 'longhaul-chaos-'));
  const stack = await startStack({
    stateDir,
    env: { ...env, LONGHAUL_HOME: stateDir },
    sandboxServerFlags: ['--faults'],
    log: () => {},
  });
  const { temporal, sandboxApi } = stack.session;
  const violations: string[] = [];
  const tally: Tally = { kills: 0, faults: 0, signals: 0, cancels: 0 };
  const chance = chanceOf(seed);
  const api = drillApi(stack.session);
  const longhaul = await Longhaul.connect({ address: temporal.address, env: {} });
  try {
    const units = Math.ceil(disturbMs / UNIT_MS);
    const jobs: JobHandle[] = [];
    for (let index = 0; index < count; index += 1)
      jobs.push(await longhaul.jobs.submit(chaosJob(units, UNIT_MS), { id: `chaos-${index}` }));
    const scene: Scene = {
      stack,
      api,
      chance,
      jobs,
      cancelled: new Set(),
      tally,
      maxCancels: Math.ceil(count / 5),
    };

    const watchman = new AbortController();
    const watching = watchForDoubles(api, violations, watchman.signal);
    for (const endAt = Date.now() + disturbMs; Date.now() < endAt; ) {
      await sleep(chance.between(100, 1500));
      log(await disturb(scene));
    }
    await api.behave();
    const statuses = await settle(jobs);
    watchman.abort();
    await watching;

    for (const [index, status] of statuses.entries()) {
      const id = jobs[index]?.id ?? '';
      violations.push(...problemsOf(id, status, units, scene.cancelled.has(id)));
    }
    violations.push(...(await leftovers(api, jobs)));
    const found = await findSecret(sandboxApi.apiKey, temporal.address, [
      join(stateDir, 'logs'),
      join(stateDir, 'store'),
    ]);
    violations.push(...found.map((place) => `the API key is in ${place}`));
    const ended = (phase: string) => statuses.filter((status) => status?.phase === phase).length;
    return {
      seed,
      jobs: count,
      ...tally,
      completed: ended('completed'),
      cancelled: ended('cancelled'),
      violations,
    };
  } finally {
    await longhaul.close();
    await stack.stop();
    if (violations.length === 0) await rm(stateDir, { recursive: true, force: true });
    else log(`Logs and data are kept in ${stateDir}`);
  }
}

/** At no instant may a job have two sandboxes that are alive. */
async function watchForDoubles(api: DrillApi, violations: string[], signal: AbortSignal): Promise<void> {
  const told = new Set<string>();
  while (!signal.aborted) {
    const owners = new Map<string, string>();
    for (const { id, runChainId } of (await api.alive()) ?? []) {
      const other = owners.get(runChainId);
      owners.set(runChainId, id);
      if (other === undefined || told.has(runChainId)) continue;
      told.add(runChainId);
      violations.push(`the run ${runChainId} has two live sandboxes: ${other} and ${id}`);
    }
    await sleep(LOOK_EVERY_MS);
  }
}

/** Lets everything go on, and waits for the end of each job; `null` for one that does not come to it. */
async function settle(jobs: readonly JobHandle[]): Promise<(JobStatus | null)[]> {
  const signal = AbortSignal.timeout(SETTLE_MS);
  return Promise.all(
    jobs.map(async (job) => {
      for (; !signal.aborted; await sleep(1000)) {
        const status = await job.status().catch(() => null);
        if (status === null) continue;
        if (status.endedAt !== null) return status;
        if (status.holds.length > 0) await job.resume({ by: 'chaos', force: true }).catch(() => {});
      }
      return null;
    }),
  );
}

function problemsOf(id: string, status: JobStatus | null, units: number, wasCancelled: boolean): string[] {
  if (status === null) return [`${id} did not come to its end within ${SETTLE_MS / 60_000} minutes`];
  if (status.phase === 'cancelled') return wasCancelled ? [] : [`${id} was cancelled by nobody`];
  if (status.phase === 'failed') return [`${id} failed: ${status.failure?.code} ${status.failure?.message}`];
  const { marks, different } = (status.result ?? {}) as { marks?: number; different?: number };
  const problems: string[] = [];
  if (marks !== units || different !== units)
    problems.push(`${id} did ${marks} units, ${different} different ones, of ${units}`);
  for (const { regressed, before, after } of status.receipts) {
    if (regressed) problems.push(`${id} lost work: from step ${before?.step} to ${after?.step}`);
  }
  return problems;
}

/** Sandboxes and processes of jobs that are over. */
async function leftovers(api: DrillApi, jobs: readonly JobHandle[]): Promise<string[]> {
  const sandboxes = (await api.alive()) ?? [];
  const ids = new Set(jobs.map(({ id }) => `LONGHAUL_JOB_ID=${id}`));
  const processes: string[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    if (environment.split('\0').some((each) => ids.has(each))) processes.push(pid);
  }
  return [
    ...sandboxes.map(({ id, state }) => `sandbox ${id} is left, ${state}`),
    ...processes.map((pid) => `process ${pid} of a job is left`),
  ];
}
