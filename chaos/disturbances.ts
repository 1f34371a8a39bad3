/** What goes wrong in a drill, and how often. */

import type { JobHandle } from '../client/index.js';
import type { Stack } from '../local/dev/index.js';
import type { Chance } from './random.js';
import type { DrillApi } from './sandbox-api.js';

export interface Tally {
  kills: number;
  faults: number;
  signals: number;
  cancels: number;
}

export interface Scene {
  readonly stack: Stack;
  readonly api: DrillApi;
  readonly chance: Chance;
  readonly jobs: readonly JobHandle[];
  /** IDs of jobs that were asked to end. */
  readonly cancelled: Set<string>;
  readonly tally: Tally;
  /** At most so many jobs are cancelled. */
  readonly maxCancels: number;
}

/** A fault lasts so long at most. */
const FAULT_MS = 4000;

const FAULTS: readonly ((chance: Chance) => object)[] = [
  (chance) => ({ fault: { kind: 'latency', ms: Math.round(chance.between(50, 2500)) }, probability: 0.5 }),
  () => ({ fault: { kind: 'status', status: 503, format: 'html' }, probability: 0.6 }),
  () => ({ fault: { kind: 'status', status: 500, when: 'after' }, probability: 0.4 }),
  () => ({ fault: { kind: 'status', status: 429, retryAfter: '1' }, probability: 0.5 }),
  () => ({ fault: { kind: 'drop', when: 'before' }, probability: 0.5 }),
  () => ({ fault: { kind: 'drop', when: 'after' }, probability: 0.5 }),
  () => ({ fault: { kind: 'truncate', bytes: 20 }, probability: 0.4 }),
  () => ({ fault: { kind: 'stale', ms: 1500 }, probability: 0.5 }),
  () => ({ fault: { kind: 'pause-falls-back' }, count: 2 }),
  (chance) => ({ fault: { kind: 'pausing', forMs: Math.round(chance.between(200, 2000)) }, count: 3 }),
  () => ({ fault: { kind: 'resume-ignored' }, count: 2 }),
  (chance) => ({ fault: { kind: 'pending', forMs: Math.round(chance.between(200, 2000)) }, count: 3 }),
];

/** Does one thing that goes wrong, or that people do. @returns what it was, for the log. */
export async function disturb(scene: Scene): Promise<string> {
  const disturbance = scene.chance.weighted([
    [3, killWorker],
    [2, killSandboxServer],
    [1, killTemporal],
    [6, injectFault],
    [8, signalJob],
    [1, cancelJob],
  ]);
  return disturbance(scene);
}

async function killWorker({ stack, tally }: Scene): Promise<string> {
  return kill('the worker', stack.worker.pid, tally);
}

async function killSandboxServer({ stack, tally }: Scene): Promise<string> {
  return kill('the sandbox server', stack.sandboxServer.pid, tally);
}

async function killTemporal({ stack, tally }: Scene): Promise<string> {
  tally.kills += 1;
  await stack.killTemporal();
  return 'killed Temporal, which was started again';
}

function kill(what: string, pid: number | null, tally: Tally): string {
  if (pid === null) return `${what} was down already`;
  process.kill(pid, 'SIGKILL');
  tally.kills += 1;
  return `killed ${what}`;
}

async function injectFault({ api, chance, tally }: Scene): Promise<string> {
  const rule = { ...chance.pick(FAULTS)(chance), until: FAULT_MS };
  tally.faults += 1;
  await api.misbehave([rule]);
  return `fault ${JSON.stringify(rule)}`;
}

async function signalJob({ jobs, chance, tally }: Scene): Promise<string> {
  const job = chance.pick(jobs);
  const verb = chance.pick(['pause', 'resume', 'resume'] as const);
  // A job that is over, or a Temporal that is away: people meet that, too.
  await job[verb]({ by: 'chaos' }).catch(() => {});
  tally.signals += 1;
  return `${verb} ${job.id}`;
}

async function cancelJob({ jobs, chance, cancelled, maxCancels, tally }: Scene): Promise<string> {
  if (cancelled.size >= maxCancels) return 'nobody is cancelled any more';
  const job = chance.pick(jobs);
  const sent = await job.cancel().then(
    () => true,
    () => false,
  );
  // Unanswered, it may have been carried out all the same.
  cancelled.add(job.id);
  tally.cancels += 1;
  return `cancel ${job.id}${sent ? '' : ' (unanswered)'}`;
}
