/** Memory and CPU time of processes, as Linux counts them. */

import { readdirSync, readFileSync } from 'node:fs';

/** Of proc(5), utime and stime: a hundredth of a second on every Linux. */
const TICKS_PER_SECOND = 100;
const MIB_IN_KIB = 1024;

/** What is resident now and at most, and the CPU time so far. @throws Error when the process has ended. */
export function usageOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kib = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
  const fields = statOf(pid);
  return {
    rssMib: kib('VmRSS') / MIB_IN_KIB,
    peakRssMib: kib('VmHWM') / MIB_IN_KIB,
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
  };
}

/** The sum over processes; those that have ended count as nothing. */
export function usageOfAll(pids) {
  const sum = { rssMib: 0, peakRssMib: 0, cpuSeconds: 0 };
  for (const pid of pids) {
    try {
      for (const [name, value] of Object.entries(usageOf(pid))) sum[name] += value;
    } catch {}
  }
  return sum;
}

export function childrenOf(pid) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return Number(statOf(name)[1]) === pid;
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** The fields after the name, which may itself have spaces and brackets. */
function statOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}
