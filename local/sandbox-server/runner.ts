/**
 * Starts and stops the processes of one sandbox. Built so that the server may be killed at any line:
 * the new process waits at a gate until its identity is on disk, and ends by itself when nobody opens it.
 */

import { spawn } from 'node:child_process';
import { chownSync, closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { platform } from 'node:process';
import type { Backend, Place } from './backends/backend.js';
import { SYSTEM_PATH } from './backends/backend.js';
import { forgetPorts, writeEnvironment } from './home.js';
import {
  childrenOf,
  findProcesses,
  identify,
  isAlive,
  isFirstOfNamespace,
  isOfEarlierBoot,
  type ProcessIdentity,
  readText,
  signal,
  waitUntil,
} from './processes.js';

/** Between SIGTERM to the entrypoint and SIGKILL to everything. */
export const STOP_GRACE_MS = 1000;
const START_TIMEOUT_MS = 20_000;
const KILL_TIMEOUT_MS = 10_000;
/** What a process that left no exit code must have died of: SIGKILL, 128 + 9. */
export const KILLED_EXIT_CODE = 137;

/**
 * Arguments: a `ulimit` line, the number of cgroup files, these files, the command. Files that the server
 * itself has inherited from its starter would be open in the sandbox, too: bash can close them, dash cannot.
 */
const GATE = `
read -r go || exit 125
exec </dev/null
for file in /proc/self/fd/*; do
  [ "\${file##*/}" -gt 5 ] 2>/dev/null && [ -e "$file" ] && leaked="$leaked exec \${file##*/}>&-;"
done
umask 022
eval "$1"; count=$2; shift 2
while [ "$count" -gt 0 ]; do echo $$ >"$1" || exit 96; shift; count=$((count - 1)); done
if [ -n "$leaked" ] && command -v bash >/dev/null; then exec bash -c "$leaked"' exec "$@"' bash "$@"; fi
exec "$@"`;

export interface Launch {
  readonly place: Place;
  readonly backend: Backend;
  readonly entrypoint: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cgroupFolders: readonly string[];
  /** Shell commands that set limits where there are no cgroups. */
  readonly ulimits: string;
  /** Saves the identity; the gate opens when it returns. */
  readonly onSpawned: (outer: ProcessIdentity) => void;
  readonly onExit: () => void;
}

/** The pair of processes by which a sandbox is known: the one that we spawned, and its own first one. */
export interface Processes {
  readonly outer: ProcessIdentity | null;
  readonly init: ProcessIdentity | null;
}

/** @throws Error when no process could be spawned. */
export function launch(options: Launch): void {
  const { place, backend, cgroupFolders } = options;
  forgetPorts(place);
  const environment = writeEnvironment(place, {
    ...backend.environment(place),
    ...options.env,
    OPENSANDBOX_ID: place.id,
  });
  const log = openSync(logFile(place), 'a', 0o600);
  const status = openSync(statusFile(place), 'w', 0o600);
  const variables = openSync(environment, 'r');
  // Programs that write to /dev/stdout open the file anew, as the sandbox's user.
  if (place.uid !== null) chownSync(logFile(place), place.uid, place.uid);
  try {
    const command = [
      ...['-c', GATE, 'sh', options.ulimits, `${cgroupFolders.length}`],
      ...cgroupFolders.map((folder) => join(folder, 'cgroup.procs')),
      ...backend.command(place, options.entrypoint),
    ];
    const child = spawn('/bin/sh', command, {
      cwd: place.home,
      env: { PATH: SYSTEM_PATH },
      detached: true,
      stdio: ['pipe', log, log, status, variables, status],
    });
    child.on('error', () => undefined);
    const outer = child.pid === undefined ? null : identify(child.pid);
    if (outer === null) throw new Error('The first process of the sandbox could not be spawned.');
    options.onSpawned(outer);
    child.once('exit', options.onExit);
    const gate = child.stdin;
    gate?.on('error', () => undefined);
    gate?.end('go\n');
    child.unref();
  } finally {
    for (const file of [log, status, variables]) closeSync(file);
  }
}

/**
 * Waits until the sandbox's world is built and the entrypoint is about to run, or has run.
 * @returns its first process (`null` when that is over already), or how the start went wrong.
 */
export async function untilReady(
  place: Place,
  backend: Backend,
  outer: ProcessIdentity,
): Promise<{ readonly init: ProcessIdentity | null } | 'failed' | 'timeout'> {
  const isReady = () => /^ready$/m.test(readText(statusFile(place)));
  await waitUntil(() => isReady() || !isAlive(outer), START_TIMEOUT_MS);
  if (isReady()) return { init: backend.isolated ? firstProcessOf(place, outer) : null };
  return isAlive(outer) ? 'timeout' : 'failed';
}

/** Whether the entrypoint runs. Daemons that it has left behind do not count. */
export function isRunning(place: Place, { outer, init }: Processes): boolean {
  return (isAlive(init) || isAlive(outer)) && reportedExitCode(place) === null;
}

/** How the entrypoint ended; meaningful when the sandbox no longer runs. `null`: it never began. */
export function exitCodeOf(place: Place): number | null {
  const code = reportedExitCode(place);
  if (code !== null) return code;
  return /^ready$/m.test(readText(statusFile(place))) ? KILLED_EXIT_CODE : null;
}

function reportedExitCode(place: Place): number | null {
  const status = readText(statusFile(place));
  const code = /^exit (\d+)$/m.exec(status)?.[1] ?? /"exit-code": (\d+)/.exec(status)?.[1];
  return code === undefined ? null : Number(code);
}

/**
 * Ends all processes of a sandbox: SIGTERM to the entrypoint, grace (when there is one), SIGKILL to the rest.
 * @param thaw lets frozen processes notice a signal.
 * @throws Error when something survives even that.
 */
export async function stop(
  place: Place,
  backend: Backend,
  processes: Processes,
  graceMs: number,
  thaw: () => void = () => undefined,
): Promise<void> {
  const { outer } = processes;
  if (outer === null || isOfEarlierBoot(outer)) return;
  const tree = backend.isolated ? namespaceTree(place, outer, processes.init) : groupTree(place, outer);
  if (tree.isGone()) return;
  if (graceMs > 0) tree.terminate();
  else tree.kill();
  thaw();
  if (await waitUntil(tree.isGone, graceMs)) return;
  const isKilled = () => {
    tree.kill();
    return tree.isGone();
  };
  if (!(await waitUntil(isKilled, KILL_TIMEOUT_MS))) {
    throw new Error(`Processes of sandbox ${place.id} are still there ${KILL_TIMEOUT_MS} ms after SIGKILL.`);
  }
}

interface Tree {
  /** Tells the entrypoint. */
  readonly terminate: () => void;
  readonly kill: () => void;
  readonly isGone: () => boolean;
}

/** The kernel ends a namespace's other processes before its first one counts as ended. */
function namespaceTree(place: Place, outer: ProcessIdentity, known: ProcessIdentity | null): Tree {
  // Asked for again and again: while the sandbox is being built there is none yet.
  const init = () => known ?? firstProcessOf(place, outer);
  return {
    isGone: () => !isAlive(outer) && !isAlive(init()),
    terminate: () => {
      const first = init();
      const entrypoint = isAlive(first) ? childrenOf(first.pid)[0] : undefined;
      if (entrypoint !== undefined) signal(entrypoint, 'SIGTERM');
    },
    kill: () => {
      for (const each of [init(), outer]) if (isAlive(each)) signal(each.pid, 'SIGKILL');
    },
  };
}

/** Without namespaces: a process group, and what has left it. */
function groupTree({ id }: Place, outer: ProcessIdentity): Tree {
  const find = () => findProcesses(outer.pid, `OPENSANDBOX_ID=${id}`);
  const isGone = () => find().length === 0 && (platform === 'linux' || !isAlive(outer));
  return {
    isGone,
    terminate: () => signal(childrenOf(outer.pid)[0] ?? -outer.pid, 'SIGTERM'),
    kill: () => {
      signal(-outer.pid, 'SIGKILL');
      for (const pid of find()) signal(pid, 'SIGKILL');
    },
  };
}

export function logFile({ home }: Place): string {
  return join(home, 'log');
}

function statusFile({ home }: Place): string {
  return join(home, 'status');
}

/** The only child of the back end's tool. bwrap may end before it, but has written down which it is. */
function firstProcessOf(place: Place, outer: ProcessIdentity): ProcessIdentity | null {
  const child = isAlive(outer) ? childrenOf(outer.pid)[0] : undefined;
  const reported = /"child-pid": (\d+)/.exec(readText(statusFile(place)))?.[1];
  const pid = child ?? Number(reported);
  return isFirstOfNamespace(pid) ? identify(pid) : null;
}
