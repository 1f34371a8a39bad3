/** The limits of a sandbox by the means that this machine has, and an honest account of which hold. */

import type { Backend } from './backends/backend.js';
import type { CgroupVersion, ResourceLimits } from './cgroups.js';

/** Shell commands for where there are no cgroups. Per process, and the address space stays free: Node.js needs it. */
export function ulimits(cgroups: CgroupVersion | null, backend: Backend, limits: ResourceLimits): string {
  if (cgroups !== null) return '';
  // Without a user of its own, a sandbox would be counted together with everything else of this user.
  const processes = backend.isolated ? `ulimit -u ${limits.maxProcesses}; ` : '';
  const kibibytes = limits.memoryBytes === null ? null : Math.ceil(limits.memoryBytes / 1024);
  return `{ ${processes}${kibibytes === null ? ':' : `ulimit -d ${kibibytes}`}; } 2>/dev/null || :`;
}

/** For `inspect`: one line per limit. */
export function describeLimits(
  cgroups: CgroupVersion | null,
  backend: Backend,
  { cpuCores, memoryBytes, maxProcesses }: ResourceLimits,
): string[] {
  const by = (fallback: string) => (cgroups === null ? fallback : `enforced, cgroup v${cgroups}`);
  const cpu =
    cpuCores === null ? 'no limit asked for' : `${cpuCores.toFixed(2)} cores (${by('NOT enforced')})`;
  const memory =
    memoryBytes === null
      ? 'no limit asked for'
      : `${Math.round(memoryBytes / 2 ** 20)} MiB (${by('per process, by ulimit')})`;
  const pids = `${maxProcesses} (${by(backend.isolated ? 'by ulimit' : 'NOT enforced')})`;
  return [
    `CPU:          ${cpu}`,
    `Memory:       ${memory}`,
    `PIDs Limit:   ${pids}`,
    'Disk:         NOT enforced',
  ];
}
