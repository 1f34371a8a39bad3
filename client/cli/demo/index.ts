/**
 * `longhaul demo`: a real job with everything that can happen to it, told to somebody who never saw the product.
 * Whatever it says is observed: processes by /proc, sandboxes by the API, the result by a walk of its own.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import colours from 'picocolors';
import { formatDuration } from '../../../contract/quantities.js';
import type { JobStatus } from '../../../contract/status.js';
import type { Stack } from '../../../local/dev/index.js';
import type { JobHandle } from '../../index.js';
import { Longhaul } from '../../index.js';
import { plainLine } from '../render/progress.js';
import { type AuditResult, auditJob, verifyAudit } from './audit.js';
import { type Account, processesOf, takeAccount } from './evidence.js';

/** Where in the work the two disturbances happen. */
const PAUSE_AT = 0.3;
const KILL_AT = 0.6;
const PAUSED_FOR_MS = 2000;
const SHOW_EVERY_MS = 1000;

/** @returns the exit code: 0 only if everything was as promised. */
export async function runDemo(env: NodeJS.ProcessEnv): Promise<number> {
  const startedAt = Date.now();
  const stateDir = await mkdtemp(join(tmpdir(), 'longhaul-demo-'));
  let stack: Stack | undefined;
  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupt.abort());
  try {
    tell('1', 'Starting a Temporal server, a sandbox server and a worker on this machine.');
    const { startStack } = await import('../../../local/dev/index.js');
    stack = await startStack({ stateDir, env: { ...env, LONGHAUL_HOME: stateDir }, log: detail });
    detail(
      `up after ${formatDuration(Date.now() - startedAt)}; sandboxes are isolated by ${stack.isolation.backend}`,
    );
    for (const note of stack.isolation.notes) detail(note);
    const longhaul = await Longhaul.connect({ address: stack.session.temporal.address, env: {} });
    try {
      return await tellStory(stack, longhaul, interrupt.signal);
    } finally {
      await longhaul.close();
    }
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    detail('interrupted');
    return 1;
  } finally {
    tell('7', 'Stopping everything.');
    await stack?.stop();
    await rm(stateDir, { recursive: true, force: true });
    detail(`nothing is left running; the whole took ${formatDuration(Date.now() - startedAt)}`);
  }
}

async function tellStory(stack: Stack, longhaul: Longhaul, signal: AbortSignal): Promise<number> {
  tell(
    '2',
    'Submitting a job: an agent that hashes every program in its image and takes notes in /workspace.',
  );
  const { spec, roots, depth } = await auditJob();
  const job = await longhaul.jobs.submit(spec);
  await showUntil(job, signal, ({ checkpoint }) => (checkpoint?.progress ?? 0) >= PAUSE_AT);

  tell('3', 'Pausing it in the middle of its work.');
  const before = await processesOf(job.id);
  await job.pause({ by: 'demo', reason: 'to show a pause' });
  const paused = await showUntil(job, signal, ({ phase }) => phase === 'paused');
  const during = await processesOf(job.id);
  const receipt = paused.receipts.at(-1);
  detail(
    `receipt: paused ${gap(receipt?.requestedAt, receipt?.observedAt)} after the request, at step ${receipt?.before?.step}`,
  );
  detail(
    `processes of the agent: ${before.length} before, ${during.length} now; its workspace is kept, it costs nothing`,
  );
  await sleep(PAUSED_FOR_MS, undefined, { signal });

  tell('4', 'Resuming it: a new process on the same workspace.');
  await job.resume({ by: 'demo' });
  const resumed = await showUntil(job, signal, ({ receipts }) => receipts.at(-1)?.kind === 'resume');
  const back = resumed.receipts.at(-1);
  detail(
    `receipt: the agent was back ${gap(back?.requestedAt, back?.readyAt)} after the request, at step ${back?.after?.step}`,
  );
  await showUntil(job, signal, ({ checkpoint }) => (checkpoint?.progress ?? 0) >= KILL_AT);

  tell('5', 'Killing the worker with SIGKILL. The agent does not notice; a new worker takes over.');
  const killed = stack.worker.pid;
  if (killed !== null) process.kill(killed, 'SIGKILL');
  const done = await showUntil(job, signal, ({ endedAt }) => endedAt !== null);

  tell('6', 'Checking the result against a walk of the same folders by other code.');
  const result = done.result as AuditResult | null;
  const verdict =
    result === null ? `no result: ${done.failure?.message}` : await verifyAudit(result, roots, depth);
  const account = await takeAccount(stack.session, job.id);
  if (result !== null) showSummary(result);
  detail(verdict ?? colours.green('each file was counted exactly once, with its right size and digest'));
  showAccount(done, killed, account, await processesOf(job.id));
  return verdict === null && during.length === 0 && account.left === 0 ? 0 : 1;
}

function showSummary({ totals, runs, setuid, largest, duplicates }: AuditResult): void {
  const { files, bytes, elf, scripts, links } = totals;
  detail(
    `${files.toLocaleString('en')} files, ${mib(bytes)}: ${elf} ELF, ${scripts} scripts, besides ${links} links; in ${runs} runs of the agent`,
  );
  detail(
    `setuid: ${setuid.slice(0, 4).join(', ') || 'none'}${setuid.length > 4 ? ` and ${setuid.length - 4} more` : ''}`,
  );
  const [first] = largest;
  if (first !== undefined)
    detail(`largest: ${first.path}, ${mib(first.size)}; duplicates waste ${mib(duplicates.wastedBytes)}`);
}

function showAccount(
  { receipts, hours }: JobStatus,
  killed: number | null,
  { events, created, deleted, left }: Account,
  processes: readonly number[],
): void {
  const pauses = receipts.filter(({ kind }) => kind === 'pause').length;
  const seconds = (value: number) => `${(value * 3600).toFixed(1)} s`;
  detail(`pauses: ${pauses}; workers killed: ${killed === null ? 0 : 1}; events in the history: ${events}`);
  detail(
    `sandboxes created: ${created}, deleted: ${deleted}, left in the API: ${left}; processes left: ${processes.length}`,
  );
  detail(
    `time: ${seconds(hours.running)} running, ${seconds(hours.paused)} paused, ${seconds(hours.provisioning)} being made or resumed`,
  );
}

/** Shows a line of progress now and then, until the status is so. */
async function showUntil(
  job: JobHandle,
  signal: AbortSignal,
  isSo: (status: JobStatus) => boolean,
): Promise<JobStatus> {
  let shownAt = 0;
  for await (const status of job.watch({ signal })) {
    const reached = isSo(status);
    if (reached || Date.now() - shownAt >= SHOW_EVERY_MS) detail(plainLine(status, Date.now()));
    shownAt = reached || Date.now() - shownAt >= SHOW_EVERY_MS ? Date.now() : shownAt;
    if (reached) return status;
    if (status.endedAt !== null)
      throw new Error(`The job ended too early: ${status.failure?.message ?? status.phase}`);
  }
  throw new Error('interrupted');
}

function tell(step: string, text: string): void {
  process.stdout.write(`\n${colours.bold(colours.cyan(step))} ${colours.bold(text)}\n`);
}

function detail(text: string): void {
  process.stdout.write(`  ${text}\n`);
}

function gap(from: string | undefined, to: string | null | undefined): string {
  return from && to ? formatDuration(Math.max(0, Date.parse(to) - Date.parse(from))) : 'some time';
}

function mib(sizeBytes: number): string {
  return `${(sizeBytes / 2 ** 20).toFixed(1)} MiB`;
}
