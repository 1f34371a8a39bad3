/**
 * A child that outlives nobody. A process that is killed with SIGKILL cannot stop its children; but the
 * kernel closes its pipes. So a shell waits at the end of one, and ends the child when that closes.
 */

import { type ChildProcess, spawn } from 'node:child_process';

/** A child that hangs gets SIGKILL 10 seconds after SIGTERM, as in a stop that was asked for. */
const WATCH = `
read -r _
kill "$0"
for _ in 1 2 3 4 5 6 7 8 9 10; do sleep 1; kill -0 "$0" || exit; done
kill -9 "$0"
`;

/** Does nothing for a child that could not be started. */
export function dieWithParent(child: ChildProcess): void {
  if (child.pid === undefined) return;
  // In a process group of its own, since whatever kills ours would kill the watcher, too.
  const watcher = spawn('/bin/sh', ['-c', WATCH, `${child.pid}`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  // Without a watcher the child only lacks this protection.
  watcher.once('error', () => {});
  watcher.unref();
  watcher.stdin.on('error', () => {});
  (watcher.stdin as unknown as { unref?: () => void }).unref?.();
  // Before its process ID can belong to somebody else.
  child.once('exit', () => watcher.kill('SIGKILL'));
}
