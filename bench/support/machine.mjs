/** What a measurement must be read with: the machine, its load, and the versions of what ran. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';

const GIB = 2 ** 30;

/** @param versions of what is measured, by name. */
export function describeMachine(versions = {}) {
  return {
    cpus: cpus().length,
    model: cpus()[0]?.model ?? 'unknown',
    memoryGib: Math.round(totalmem() / GIB),
    kernel: release(),
    node: process.version,
    commit: commit(),
    loadBefore: loadavg()[0],
    ...versions,
  };
}

export function printMachine({ cpus, model, memoryGib, kernel, node, commit, loadBefore, ...versions }) {
  const more = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  console.log(`${cpus} × ${model}, ${memoryGib} GiB, Linux ${kernel}, Node.js ${node}, commit ${commit}`);
  if (more.length > 0) console.log(more.join(', '));
  console.log(`Load average before: ${loadBefore.toFixed(1)}${loadBefore > cpus / 2 ? ' – NOT IDLE' : ''}\n`);
}

/** Of the project's own files, `+` where they were changed since. */
function commit() {
  const git = (...args) =>
    execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    return git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain') === '' ? '' : '+');
  } catch {
    return 'unknown';
  }
}

export function projectVersion() {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
}
