/** Starts commands inside a sandbox, and follows them to their end. */

import { randomUUID } from 'node:crypto';
import { ApiError } from '../errors.js';
import type { EventStream } from './events.js';
import { type Frame, readFrames } from './frames.js';
import { asFound, environmentOf, type Inside, startInside } from './inside.js';
import { LineSplitter } from './lines.js';
import { invalid } from './requests.js';
import { RUN_SCRIPT } from './run-script.js';
import { type Run, runsOf } from './runs.js';
import { openSpool, type Spool } from './spool.js';

export interface CommandRequest {
  readonly command: string;
  readonly cwd: string;
  readonly background: boolean;
  /** `null`: no limit. */
  readonly timeoutMs: number | null;
  readonly uid: number | null;
  readonly gid: number | null;
  readonly envs: Readonly<Record<string, string>>;
}

/** Before what is wrong with a request for a command. */
export const VALIDATION = 'invalid request, validation error ';

/** How one is run beyond what was asked for. */
export interface Setup {
  readonly env: Readonly<Record<string, string>>;
  readonly makesCwd: boolean;
  /** The command as a file, and where it leaves its state; `null`: a command line. */
  readonly script: readonly [script: Spool, state: Spool] | null;
}

export interface Started {
  readonly run: Run;
  /** Must be read to the end, or else the command stands still. */
  readonly frames: AsyncGenerator<Frame>;
}

/** One that is not startable as asked for, which is known only inside. */
export class NotStartedError extends Error {
  override readonly name = 'NotStartedError';
}

/**
 * Resolves when the command runs.
 * @throws ApiError, NotStartedError.
 */
export async function start(
  inside: Inside,
  request: CommandRequest,
  { env, makesCwd, script }: Setup = { env: environmentOf(inside), makesCwd: false, script: null },
): Promise<Started> {
  const output = request.background ? await openSpool(inside, 'ax+') : null;
  const files = output === null ? (script ?? []) : [output];
  const order = {
    env: { ...env, ...request.envs },
    command: asFound(inside, request.command),
    cwd: request.cwd === '' ? '/workspace' : request.cwd,
    background: request.background,
    commandUid: request.uid,
    gid: request.gid,
    makesCwd,
    script: script !== null,
  };
  try {
    const process = startInside(
      inside,
      RUN_SCRIPT,
      order,
      files.map(({ fd }) => fd),
    );
    const frames = readFrames(process.stdout);
    const { value: first } = await frames.next();
    if (first?.kind !== 'started') {
      await frames.return(undefined);
      throw refusal(first, request);
    }
    let end: () => void = () => undefined;
    const run: Run = {
      id: randomUUID().replaceAll('-', ''),
      content: request.command,
      output,
      startedAt: new Date(),
      finishedAt: null,
      exitCode: null,
      error: '',
      strike: (signal) => void process.stdin.write(signal === 'SIGTERM' ? 'T' : 'K'),
      ended: new Promise((resolve) => {
        end = resolve;
      }),
    };
    return { run, frames: untilEnd(run, frames, request.timeoutMs, () => end()) };
  } catch (error) {
    await output?.close();
    throw error;
  }
}

/** Keeps the books of a run while somebody reads what it writes. */
async function* untilEnd(
  run: Run,
  frames: AsyncGenerator<Frame>,
  timeoutMs: number | null,
  end: () => void,
): AsyncGenerator<Frame> {
  const timer = timeoutMs === null ? null : setTimeout(() => run.strike('SIGKILL'), timeoutMs);
  let last = { exitCode: -1, reason: 'signal: killed' };
  try {
    for await (const frame of frames) {
      if (frame.kind === 'ended') last = frame;
      else yield frame;
    }
  } finally {
    if (timer !== null) clearTimeout(timer);
    run.finishedAt = new Date();
    run.exitCode = last.exitCode;
    run.error = last.exitCode === 0 ? '' : last.reason;
    end();
  }
}

/** Runs one in the background, and answers at once. */
export async function runInBackground(
  inside: Inside,
  request: CommandRequest,
  events: EventStream,
): Promise<void> {
  const { run, frames } = await start(inside, request).catch((error) => {
    if (!(error instanceof NotStartedError)) throw error;
    throw new ApiError(
      500,
      'RUNTIME_ERROR',
      `error running commands failed to start commands: ${error.message}`,
    );
  });
  runsOf(inside.record).add(run);
  void drain(frames);
  await events.begin(run.id);
  await events.completed(Date.now() - run.startedAt.getTime());
}

async function drain(frames: AsyncGenerator<Frame>): Promise<void> {
  for await (const _ of frames);
}

/** Runs one whose output is the answer. It goes on when the client goes away. */
export async function runInForeground(
  inside: Inside,
  request: CommandRequest,
  events: EventStream,
): Promise<void> {
  let started: Started;
  try {
    started = await start(inside, request);
  } catch (error) {
    if (!(error instanceof NotStartedError)) throw error;
    await events.begin(randomUUID().replaceAll('-', ''));
    return await events.failed(error.message, error.message);
  }
  const { run, frames } = started;
  runsOf(inside.record).add(run);
  await events.begin(run.id);
  await passOn(frames, events);
  await tellEnd(inside, run, events);
}

/** @param mergesErrors whether both kinds of output are told as one. */
export async function passOn(
  frames: AsyncGenerator<Frame>,
  events: EventStream,
  mergesErrors = false,
): Promise<void> {
  const splitters = { stdout: new LineSplitter(), stderr: new LineSplitter() };
  for await (const frame of frames) {
    if (frame.kind !== 'stdout' && frame.kind !== 'stderr') continue;
    await events.output(mergesErrors ? 'stdout' : frame.kind, splitters[frame.kind].push(frame.data));
  }
  for (const kind of ['stdout', 'stderr'] as const) {
    await events.output(mergesErrors ? 'stdout' : kind, splitters[kind].end());
  }
}

/** A command that ended with its sandbox did not end in a way that could be told. */
export async function tellEnd({ record, sandboxes }: Inside, run: Run, events: EventStream): Promise<void> {
  const isCut = run.exitCode === -1 && (record.state !== 'Running' || !sandboxes.has(record.id));
  if (isCut) events.cut();
  else if (run.exitCode === 0) await events.completed(Date.now() - run.startedAt.getTime());
  else await events.failed(`${run.exitCode}`, run.error);
}

function refusal(frame: Frame | undefined, { cwd }: CommandRequest): Error {
  if (frame?.kind !== 'refused')
    return new ApiError(500, 'RUNTIME_ERROR', 'error running commands: it was killed');
  const { stage, reason } = frame;
  if (stage === 'exec') return new NotStartedError(reason);
  if (stage === 'enter') return new ApiError(500, 'RUNTIME_ERROR', `error running commands ${reason}`);
  return invalid(VALIDATION + cwdProblem(cwd, reason));
}

/** In the words of the API. */
function cwdProblem(cwd: string, reason: string): string {
  switch (reason) {
    case 'does not exist':
      return `working directory does not exist: ${cwd}: stat ${cwd}: no such file or directory`;
    case 'is not a directory':
      return `working directory path is not a directory: ${cwd}`;
    default:
      return `cannot access working directory ${JSON.stringify(cwd)}: ${reason}`;
  }
}
