/**
 * Stops the processes of a sandbox where they are, and lets them go on: memory, sockets and pids stay.
 * By the control groups' freezer, of which the processes notice nothing; where there is none by signals.
 */

import { existsSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Backend, Place } from './backends/backend.js';
import { type CgroupVersion, freezerFolder } from './cgroups.js';
import {
  childrenOf,
  findProcesses,
  identify,
  isAlive,
  isStopped,
  readText,
  signal,
  waitUntil,
} from './processes.js';
import type { Processes } from './runner.js';

export type Freezer = 'cgroup' | 'signals';

const FREEZE_TIMEOUT_MS = 5000;

/** How this sandbox can be frozen. To be saved before `freeze`: it says how to thaw. */
export function freezerFor(cgroups: CgroupVersion | null, id: string): Freezer {
  return cgroups !== null && existsSync(stateFile(cgroups, id)) ? 'cgroup' : 'signals';
}

/** @throws Error when the processes cannot be stopped; they go on then. */
export async function freeze(
  freezer: Freezer,
  { cgroups, backend }: { cgroups: CgroupVersion | null; backend: Backend },
  place: Place,
  processes: Processes,
): Promise<void> {
  const isFrozen =
    freezer === 'cgroup' && cgroups !== null
      ? freezeGroup(cgroups, place.id)
      : () => stopAll(membersOf(place, backend, processes));
  if (await waitUntil(isFrozen, FREEZE_TIMEOUT_MS)) return;
  thaw(freezer, { cgroups, backend }, place, processes);
  throw new Error(`Processes of sandbox ${place.id} still run ${FREEZE_TIMEOUT_MS} ms after the freeze.`);
}

/** Safe to repeat, and for what is not frozen. */
export function thaw(
  freezer: Freezer,
  { cgroups, backend }: { cgroups: CgroupVersion | null; backend: Backend },
  place: Place,
  processes: Processes,
): void {
  if (freezer === 'signals') {
    for (const pid of membersOf(place, backend, processes)) signal(pid, 'SIGCONT');
  } else if (cgroups !== null && existsSync(stateFile(cgroups, place.id))) {
    writeFileSync(stateFile(cgroups, place.id), cgroups === 1 ? 'THAWED' : '0');
  }
}

function stateFile(version: CgroupVersion, id: string): string {
  return join(freezerFolder(version, id), version === 1 ? 'freezer.state' : 'cgroup.freeze');
}

/** @returns whether the kernel has done it. Version 1 goes on with it only when it is asked again. */
function freezeGroup(version: CgroupVersion, id: string): () => boolean {
  const file = stateFile(version, id);
  if (version === 1) {
    return () => {
      writeFileSync(file, 'FROZEN');
      return readText(file).trim() === 'FROZEN';
    };
  }
  writeFileSync(file, '1');
  return () => /^frozen 1$/m.test(readText(join(freezerFolder(version, id), 'cgroup.events')));
}

/** True when all had been stopped already: one that was not yet may have had children meanwhile. */
function stopAll(pids: readonly number[]): boolean {
  const moving = pids.filter((pid) => !isStopped(pid) && identify(pid) !== null);
  for (const pid of moving) signal(pid, 'SIGSTOP');
  return moving.length === 0;
}

function membersOf({ id }: Place, backend: Backend, { outer, init }: Processes): number[] {
  if (!backend.isolated) return outer === null ? [] : findProcesses(outer.pid, `OPENSANDBOX_ID=${id}`);
  return isAlive(init) ? [...new Set([...withDescendants(init.pid), ...inNamespaceOf(init.pid)])] : [];
}

function withDescendants(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(withDescendants)];
}

/** Also those that came in from outside, as commands do: they are nobody's children there. */
function inNamespaceOf(pid: number): number[] {
  const own = namespaceOf(pid);
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return own === null ? [] : pids.map(Number).filter((each) => namespaceOf(each) === own);
}

function namespaceOf(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return null;
  }
}
