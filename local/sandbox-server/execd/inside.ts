/**
 * Starts the process that does one thing inside a sandbox. It is a child of this server, not of the sandbox:
 * nothing waits in a sandbox that nobody talks to, and what is done there ends with the server.
 */

import { type ChildProcess, type StdioPipe, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { type Place, SYSTEM_PATH } from '../backends/backend.js';
import { findPython } from '../broker.js';
import { foldersOf } from '../cgroups.js';
import { ApiError } from '../errors.js';
import { ulimits } from '../limits.js';
import type { SandboxRecord } from '../record.js';
import type { Sandboxes } from '../sandboxes.js';
import { messageOf } from '../steps.js';
import { INSIDE_SCRIPT } from './inside-script.js';

/** Where something is to be done: a running sandbox, as it was when it was asked for. */
export interface Inside {
  readonly record: SandboxRecord;
  readonly place: Place;
  readonly sandboxes: Sandboxes;
}

export interface InsideProcess extends ChildProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
}

/** What the sandbox's own processes find there; requests add to it. */
export function environmentOf({ record, place, sandboxes }: Inside): Record<string, string> {
  const own = sandboxes.steps.machine.backend.environment(place);
  return { ...own, ...record.spec.env, OPENSANDBOX_ID: record.id };
}

/** `/workspace`, and where it lies for whom there is no isolation. */
export function workspaceOf({ place, sandboxes }: Inside): readonly [named: string, actual: string] {
  const { isolated } = sandboxes.steps.machine.backend;
  return ['/workspace', isolated ? '/workspace' : join(place.home, 'workspace')];
}

/** A text of commands, which names the workspace as it is called inside. */
export function asFound(inside: Inside, text: string): string {
  const [named, actual] = workspaceOf(inside);
  return text.replaceAll(named, actual);
}

/**
 * @param script what to do, in Python, after it has gone in.
 * @param files descriptors that it finds as 3, 4 and so on.
 * @throws ApiError 500 when it cannot be started, or the sandbox has ended.
 */
export function startInside(
  inside: Inside,
  script: string,
  order: Readonly<Record<string, unknown>>,
  files: readonly number[] = [],
): InsideProcess {
  const { record, place, sandboxes } = inside;
  const { backend, cgroups } = sandboxes.steps.machine;
  const text = JSON.stringify({
    env: environmentOf(inside),
    ...order,
    workspace: workspaceOf(inside),
    cgroups: (cgroups === null ? [] : foldersOf(cgroups, record.id)).map((each) =>
      join(each, 'cgroup.procs'),
    ),
    inside: backend.isolated ? { pid: record.init?.pid ?? 0, startedAt: record.init?.startedAt } : null,
    uid: place.uid,
    files: files.length,
  });
  const command = [python(), '-S', '-E', '-c', INSIDE_SCRIPT + script];
  const limits = ulimits(cgroups, backend, record.spec.limits);
  const pipe: StdioPipe = 'pipe';
  try {
    const child = spawn('/bin/sh', ['-c', 'eval "$1"; shift; exec "$@"', 'sh', limits, ...command], {
      cwd: '/',
      // Without namespaces a sandbox's processes are known by this variable, and so end with it.
      env: { PATH: SYSTEM_PATH, ...(backend.isolated ? {} : { OPENSANDBOX_ID: record.id }) },
      stdio: [pipe, pipe, 'inherit', ...files],
      detached: true,
    }) as InsideProcess;
    child.on('error', () => undefined);
    child.stdin.on('error', () => undefined);
    const length = `${Buffer.byteLength(text)}`.padStart(10, '0');
    child.stdin.write(length + text);
    return child;
  } catch (error) {
    throw new ApiError(500, 'RUNTIME_ERROR', `error entering the sandbox: ${messageOf(error)}`);
  }
}

let found: string | null | undefined;

function python(): string {
  found ??= findPython();
  if (found !== null) return found;
  throw new ApiError(500, 'RUNTIME_ERROR', 'error entering the sandbox: it needs python3 on this machine');
}
