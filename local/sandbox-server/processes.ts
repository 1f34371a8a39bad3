/** Facts about processes that stay true over a restart of the server, and over the reuse of a pid. */

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { platform } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

/** One process of one boot of the machine; a pid alone is given out again. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot on Linux, else the text of `ps -o lstart`. */
  readonly startedAt: string;
  readonly bootId: string;
}

const SIGSTOP_BIT = 1n << BigInt(constants.signals.SIGSTOP - 1);
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

/** Whether it is the first process of a namespace of its own: those of the host never are. */
export function isFirstOfNamespace(pid: number): boolean {
  return /^NSpid:\t\d+\t(\d+\t)*1$/m.test(readText(`/proc/${pid}/status`));
}

/** Direct children, oldest first; empty for a process that is gone. */
export function childrenOf(pid: number): number[] {
  return readText(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
}

/**
 * Living processes of a process group, and those that have this variable in their first environment
 * (a daemon leaves its group, but keeps its environment). Linux only, else empty.
 */
export function findProcesses(group: number, variable: string): number[] {
  if (platform !== 'linux') return [];
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    const [state, , pgrp] = statFields(pid);
    if (state === undefined || state === 'Z' || state === 'X') return false;
    return Number(pgrp) === group || readText(`/proc/${pid}/environ`).split('\0').includes(variable);
  });
}

/**
 * Whether a SIGSTOP has stopped it, or will before it does anything else: a parent that waits in vfork for
 * a child which is stopped cannot do more than that.
 */
export function isStopped(pid: number): boolean {
  const pending = /^ShdPnd:\t([0-9a-f]+)$/m.exec(readText(`/proc/${pid}/status`))?.[1] ?? '0';
  return statFields(pid)[0] === 'T' || (BigInt(`0x${pending}`) & SIGSTOP_BIT) !== 0n;
}

/** Sends a signal; a process that is already gone is no error. */
export function signal(pid: number, name: 'SIGTERM' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
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
  const fields = statFields(pid);
  const [state, ticks] = [fields[0], fields[19]];
  return ticks === undefined || state === 'Z' || state === 'X' ? null : ticks;
}

/** From the state on; the name in parentheses before it may itself hold spaces and parentheses. */
function statFields(pid: number): string[] {
  const stat = readText(`/proc/${pid}/stat`);
  return stat === '' ? [] : stat.slice(stat.lastIndexOf(')') + 2).split(' ');
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
