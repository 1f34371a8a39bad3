/** Facts about processes that stay true over a restart of the server, and over the reuse of a pid. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { platform } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

/** One process of one boot of the machine; a pid alone is given out again. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot on Linux, else the text of `ps -o lstart`. */
  readonly startedAt: string;
  readonly bootId: string;
}

const BOOT_ID = readText('/proc/sys/kernel/random/boot_id').trim();

/** `null` when there is no such process, or only its zombie. */
export function identify(pid: number): ProcessIdentity | null {
  const startedAt = platform === 'linux' ? startTicks(pid) : startDate(pid);
  return startedAt === null ? null : { pid, startedAt, bootId: BOOT_ID };
}

export function isAlive(identity: ProcessIdentity | null): identity is ProcessIdentity {
  if (identity === null || identity.bootId !== BOOT_ID) return false;
  return identify(identity.pid)?.startedAt === identity.startedAt;
}

/** Whether the machine was started anew since: what ended then ended through no fault of its own. */
export function isOfEarlierBoot(identity: ProcessIdentity): boolean {
  return identity.bootId !== BOOT_ID;
}

/** Direct children, oldest first; empty for a process that is gone. */
export function childrenOf(pid: number): number[] {
  return readText(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
}

/** Every process that has this variable in its first environment. Linux only, else empty. */
export function processesWithVariable(pids: readonly number[], variable: string): number[] {
  return pids.filter((pid) => readText(`/proc/${pid}/environ`).split('\0').includes(variable));
}

/** Sends a signal; a process that is already gone is no error. */
export function signal(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Polls until `condition` holds; `false` when it did not within `timeoutMs`. */
export async function waitUntil(condition: () => boolean, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  for (let pauseMs = 1; !condition(); pauseMs = Math.min(pauseMs + 1, 10)) {
    if (Date.now() > deadline) return false;
    await sleep(pauseMs);
  }
  return true;
}

/** The text of a file, or nothing when it cannot be read: files below /proc vanish at any time. */
export function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function startTicks(pid: number): string | null {
  const stat = readText(`/proc/${pid}/stat`);
  // The name in parentheses may itself hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, ticks] = [fields[0], fields[19]];
  return ticks === undefined || state === 'Z' || state === 'X' ? null : ticks;
}

function startDate(pid: number): string | null {
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', `${pid}`], { encoding: 'utf8' }).trim();
    const [state = '', ...date] = line.split(/\s+/);
    return state === '' || state.startsWith('Z') ? null : date.join(' ');
  } catch {
    return null;
  }
}
