/**
 * Shells that keep their state. There is no shell that waits: each run is a new one, which begins with the exported
 * variables and the folder that the last one has left.
 */

import { randomUUID } from 'node:crypto';
import { ApiError } from '../errors.js';
import { type CommandRequest, passOn, type Setup, start, tellEnd, VALIDATION } from './commands.js';
import type { EventStream } from './events.js';
import { asFound, environmentOf, type Inside } from './inside.js';
import { invalid } from './requests.js';
import { type Run, runsOf } from './runs.js';
import { openSpool, readSpool, type Spool } from './spool.js';

export interface Session {
  readonly id: string;
  /** Shell commands that bring the variables back. */
  variables: string;
  cwd: string;
  running: Run | null;
}

/** A day, as upstream. */
const MAX_RUN_MS = 86_400_000;
/** Far more than variables may be, for which the kernel has a limit. */
const MAX_STATE_BYTES = 8 * 2 ** 20;

/** Behind the command: its exit code stays, unless it ends the shell itself, and then the state stays as it was. */
const KEEP_STATE = `
__execd_exit_code=$?
{ export -p; printf '\\0%s' "$(pwd)"; } >&4
exit "$__execd_exit_code"
`;

/** @throws ApiError 500 when the folder cannot be made. */
export async function createSession(inside: Inside, cwd: string): Promise<Session> {
  const session: Session = { id: randomUUID(), variables: '', cwd, running: null };
  if (cwd !== '') await makeFolder(inside, cwd);
  runsOf(inside.record).sessions.set(session.id, session);
  return session;
}

/** One run at a time is up to the client, as upstream. It ends when the client goes away. */
export async function runInSession(
  inside: Inside,
  session: Session,
  { command, cwd, timeoutMs }: Pick<CommandRequest, 'command' | 'cwd' | 'timeoutMs'>,
  events: EventStream,
  gone: AbortSignal,
): Promise<void> {
  const [script, state] = [await openSpool(inside), await openSpool(inside)];
  try {
    await script.write(`${session.variables}\n${asFound(inside, command)}\n${KEEP_STATE}`, 0);
    const { run, frames } = await start(
      inside,
      { ...PLAINLY, command, cwd: cwd || session.cwd },
      { env: environmentOf(inside), makesCwd: false, script: [script, state] },
    ).catch((error) => {
      if (error instanceof ApiError && error.status === 400) {
        throw invalid(`invalid request. ${withoutPrefix(error)}`);
      }
      throw new ApiError(500, 'RUNTIME_ERROR', `error running in session. ${error.message}`);
    });
    session.running = run;
    const kill = () => run.strike('SIGKILL');
    let isOver = false;
    const limitMs = timeoutMs ?? MAX_RUN_MS;
    const timer = setTimeout(() => {
      isOver = true;
      kill();
    }, limitMs);
    gone.addEventListener('abort', kill, { once: true });
    try {
      await events.begin(session.id);
      await passOn(frames, events, true);
    } finally {
      clearTimeout(timer);
      gone.removeEventListener('abort', kill);
      if (session.running === run) session.running = null;
    }
    if (isOver) {
      events.refused('RUNTIME_ERROR', `error running in session. timeout after ${goDuration(limitMs)}`);
      return;
    }
    keep(session, await textOf(state));
    await tellEnd(inside, run, events);
  } finally {
    await Promise.all([script.close(), state.close()]);
  }
}

/** What it runs is killed. */
export function closeSession(inside: Inside, session: Session): void {
  session.running?.strike('SIGKILL');
  runsOf(inside.record).sessions.delete(session.id);
}

const PLAINLY = { background: false, timeoutMs: null, uid: null, gid: null, envs: {} };

async function textOf(spool: Spool): Promise<string> {
  const chunks: Buffer[] = [];
  const { size } = await spool.stat();
  for await (const chunk of readSpool(spool, 0, Math.min(size, MAX_STATE_BYTES))) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

function keep(session: Session, state: string): void {
  const end = state.lastIndexOf('\0');
  if (end === -1) return;
  session.variables = state.slice(0, end);
  session.cwd = state.slice(end + 1);
}

async function makeFolder(inside: Inside, cwd: string): Promise<void> {
  const setup: Setup = { env: environmentOf(inside), makesCwd: true, script: null };
  const { frames } = await start(inside, { ...PLAINLY, command: ':', cwd }, setup).catch((error) => {
    throw new ApiError(500, 'RUNTIME_ERROR', `error creating session. ${withoutPrefix(error)}`);
  });
  for await (const _ of frames);
}

function withoutPrefix(error: Error): string {
  return error.message.replace(VALIDATION, '');
}

/** As Go prints a duration. */
function goDuration(ms: number): string {
  if (ms < 1000) return `${ms}ms`;
  const [hours, minutes, seconds] = [
    Math.floor(ms / 3_600_000),
    Math.floor(ms / 60_000) % 60,
    (ms % 60_000) / 1000,
  ];
  return `${hours > 0 ? `${hours}h` : ''}${hours > 0 || minutes > 0 ? `${minutes}m` : ''}${seconds}s`;
}
