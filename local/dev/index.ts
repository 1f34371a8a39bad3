/** `longhaul dev`: everything on this machine, until it is stopped. */

import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DEV_SESSION_FILE, type DevSession, stateFolder } from '../../contract/dev-session.js';
import { startStack } from './stack.js';

export { type Stack, startStack } from './stack.js';

/** Temporal's own defaults, and the ports beside them; a taken one is replaced by a free one. */
const PORTS = { temporal: 7233, ui: 8233, sandboxApi: 7280, gateway: 7281 };

export interface DevOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Flags of the sandbox server besides its places, e.g. `--faults`. */
  readonly sandboxServerFlags: readonly string[];
  /** Where lines for people go. */
  readonly log: (line: string) => void;
}

/**
 * Starts everything and returns when SIGINT or SIGTERM has stopped it again.
 * A second one on the same state folder only says where the first one runs.
 */
export async function runDev({ env, sandboxServerFlags, log }: DevOptions): Promise<void> {
  const stateDir = stateFolder(env);
  const sessionFile = join(stateDir, DEV_SESSION_FILE);
  const earlier = await readSession(sessionFile);
  if (earlier !== null && isAlive(earlier.pid)) {
    log(`Already running (process ${earlier.pid}).`);
    for (const line of describe(earlier)) log(line);
    return;
  }
  if (earlier !== null) await endLeftovers(earlier, sessionFile);

  // From the first moment on: what is half started must be stopped, too.
  const asked = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
  const stack = await startStack({ stateDir, ports: PORTS, env, sandboxServerFlags, log });
  for (const line of describe(stack.session)) log(line);
  log(`  isolation     ${stack.isolation.backend}`);
  for (const note of stack.isolation.notes) log(`                ${note}`);
  log(`  data, logs    ${stateDir}`);
  log('');
  log('In another terminal:  longhaul run examples/image-audit/job.yaml');
  log('Ctrl-C stops everything; jobs go on at the next `longhaul dev`.');
  await asked;
  log('Stopping…');
  await stack.stop();
}

function describe(session: DevSession): string[] {
  return [
    `  Temporal      ${session.temporal.address}${session.temporal.uiUrl === null ? '' : `, UI at ${session.temporal.uiUrl}`}`,
    `  sandbox API   ${session.sandboxApi.url} (gateway ${session.sandboxApi.gatewayUrl})`,
    `  worker        on task queue "${session.taskQueue}"`,
  ];
}

async function readSession(file: string): Promise<DevSession | null> {
  const text = await readFile(file, 'utf8').catch(() => null);
  return text === null ? null : (JSON.parse(text) as DevSession);
}

/** After a SIGKILL: the other processes noticed by themselves, Temporal's did not. */
async function endLeftovers(session: DevSession, sessionFile: string): Promise<void> {
  const commandLine = await readFile(`/proc/${session.temporal.pid}/cmdline`, 'utf8').catch(() => '');
  if (commandLine.includes('start-dev') && commandLine.includes(join(sessionFile, '..'))) {
    process.kill(session.temporal.pid, 'SIGTERM');
  }
  await rm(sessionFile, { force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
