/** Limits by control groups, version 1 or 2, where this process may make them. */

import { existsSync, mkdirSync, readdirSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readText } from './processes.js';

const MOUNT = '/sys/fs/cgroup';
const PARENT = 'longhaul';
const CONTROLLERS = ['memory', 'cpu', 'pids'];
const FREEZER = 'freezer';
const CPU_PERIOD_US = 100_000;
/** The kernel's own lower bound for a quota. */
const MIN_QUOTA_US = 1000;
/** Longer than a sandbox needs from the making of its group to its first process in it. */
const STALE_AFTER_MS = 60_000;

export interface ResourceLimits {
  readonly cpuCores: number | null;
  readonly memoryBytes: number | null;
  readonly maxProcesses: number;
}

export type CgroupVersion = 1 | 2;

/** Tries with a group of its own, since a mounted hierarchy may be read-only or lack controllers. */
export function detectCgroups(): CgroupVersion | null {
  const name = `probe-${process.pid}`;
  for (const version of [1, 2] as const) {
    try {
      createCgroup(version, name, { cpuCores: 1, memoryBytes: 2 ** 26, maxProcesses: 8 });
      return version;
    } catch {
      // Not this one.
    } finally {
      for (const folder of foldersOf(version, name)) tryRemove(folder);
      removeEmptyParents(version);
    }
  }
  return null;
}

/**
 * Makes a sandbox's groups with its limits.
 * @returns the folders into whose `cgroup.procs` its first process must be written.
 * @throws what the file system says when the kernel refuses.
 */
export function createCgroup(version: CgroupVersion, id: string, limits: ResourceLimits): string[] {
  const folders = foldersOf(version, id);
  const quotaUs =
    limits.cpuCores === null ? null : Math.max(MIN_QUOTA_US, Math.round(limits.cpuCores * CPU_PERIOD_US));
  for (const folder of folders) {
    // A version 1 hierarchy may be absent; making the folder in the bare mount would look like success.
    if (!existsSync(join(folder, '../../cgroup.procs'))) throw new Error(`${folder} is no control group`);
    mkdirSync(folder, { recursive: true });
  }
  if (version === 1) {
    const [memory = '', cpu = '', pids = ''] = folders;
    if (limits.memoryBytes !== null) set(memory, 'memory.limit_in_bytes', limits.memoryBytes);
    if (quotaUs !== null) {
      set(cpu, 'cpu.cfs_period_us', CPU_PERIOD_US);
      set(cpu, 'cpu.cfs_quota_us', quotaUs);
    }
    set(pids, 'pids.max', limits.maxProcesses);
  } else {
    const [group = ''] = folders;
    const enable = CONTROLLERS.map((name) => `+${name}`).join(' ');
    for (const above of [MOUNT, join(MOUNT, PARENT)]) set(above, 'cgroup.subtree_control', enable);
    if (limits.memoryBytes !== null) {
      set(group, 'memory.max', limits.memoryBytes);
      if (existsSync(join(group, 'memory.swap.max'))) set(group, 'memory.swap.max', 0);
    }
    if (quotaUs !== null) set(group, 'cpu.max', `${quotaUs} ${CPU_PERIOD_US}`);
    set(group, 'pids.max', limits.maxProcesses);
  }
  return folders;
}

/** To be called when all processes are gone. The kernel may still be busy with them for some ms. */
export async function removeCgroup(version: CgroupVersion, id: string): Promise<void> {
  for (const folder of foldersOf(version, id)) {
    for (let attempt = 0; !tryRemove(folder) && attempt < 100; attempt++) await sleep(5);
  }
  removeEmptyParents(version);
}

/**
 * Groups whose data folder was removed before its sandboxes were deleted. They are shared by all servers
 * of the machine: the kernel keeps those with processes, and age protects those that are being started.
 */
export function removeStaleCgroups(version: CgroupVersion): void {
  for (const parent of foldersOf(version, '')) {
    for (const entry of existsSync(parent) ? readdirSync(parent, { withFileTypes: true }) : []) {
      if (!entry.isDirectory()) continue;
      const folder = join(parent, entry.name);
      const madeAtMs = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
      if (Date.now() - madeAtMs > STALE_AFTER_MS) tryRemove(folder);
    }
  }
  removeEmptyParents(version);
}

function removeEmptyParents(version: CgroupVersion): void {
  for (const folder of foldersOf(version, '')) tryRemove(folder);
}

/** Whether the kernel has killed a process of this sandbox for want of memory. */
export function hadOutOfMemoryKill(version: CgroupVersion, id: string): boolean {
  const [memory = ''] = foldersOf(version, id);
  const counters = readText(join(memory, version === 1 ? 'memory.oom_control' : 'memory.events'));
  return Number(/^oom_kill (\d+)/m.exec(counters)?.[1] ?? 0) > 0;
}

export function foldersOf(version: CgroupVersion, id: string): string[] {
  if (version === 2) return [join(MOUNT, PARENT, id)];
  // Those without a freezer can still be limited.
  const freezer = existsSync(join(MOUNT, FREEZER, 'cgroup.procs')) ? [FREEZER] : [];
  return [...CONTROLLERS, ...freezer].map((controller) => join(MOUNT, controller, PARENT, id));
}

/** Where a sandbox's processes can be frozen; there may be no such folder. */
export function freezerFolder(version: CgroupVersion, id: string): string {
  return version === 2 ? join(MOUNT, PARENT, id) : join(MOUNT, FREEZER, PARENT, id);
}

function set(folder: string, file: string, value: number | string): void {
  writeFileSync(join(folder, file), `${value}`);
}

/** True when it is gone. */
function tryRemove(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}
