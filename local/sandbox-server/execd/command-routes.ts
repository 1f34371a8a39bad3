/** `/command`, `/session` and `/code`. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '../errors.js';

import { json } from './answers.js';
import { type CommandRequest, runInBackground, runInForeground, VALIDATION } from './commands.js';
import { EventStream } from './events.js';
import type { Inside } from './inside.js';
import { Fields, invalid, missingQuery, PARSING, parseJson, readText } from './requests.js';
import { type Run, runsOf } from './runs.js';
import { closeSession, createSession, runInSession } from './sessions.js';
import { readSpool } from './spool.js';

/** Between SIGTERM and SIGKILL. */
const INTERRUPT_GRACE_MS = 3000;
/** For a client that does not read: its command has ended, but nobody has been told so. */
const END_WITHIN_MS = 1000;
const NO_JUPYTER = 'language runtime server not configured, please check your image runtime';

export async function postCommand(
  inside: Inside,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const asked = parseCommand(await readText(request));
  const events = new EventStream(response);
  await (asked.background ? runInBackground : runInForeground)(inside, asked, events);
}

/** Also ends a session. */
export async function interrupt(
  inside: Inside,
  query: URLSearchParams,
  response: ServerResponse,
): Promise<void> {
  const id = query.get('id') ?? '';
  if (id === '') throw missingQuery('id');
  const runs = runsOf(inside.record);
  const [run, session] = [runs.get(id), runs.sessions.get(id)];
  const refuse = (why: string) =>
    new ApiError(500, 'RUNTIME_ERROR', `error interruptting code context. ${why}`);
  if (run !== null) {
    if (run.finishedAt !== null) throw refuse(`command session ${id} is not running`);
    await end(run);
  } else if (session !== undefined) {
    closeSession(inside, session);
  } else {
    throw refuse('no such session');
  }
  response.writeHead(200, { 'content-length': 0 }).end();
}

async function end(run: Run): Promise<void> {
  run.strike('SIGTERM');
  await Promise.race([run.ended, sleep(INTERRUPT_GRACE_MS)]);
  if (run.finishedAt !== null) return;
  run.strike('SIGKILL');
  await Promise.race([run.ended, sleep(END_WITHIN_MS)]);
}

export function getStatus({ record }: Inside, id: string, response: ServerResponse): void {
  const run = runsOf(record).get(id);
  if (run === null) throw new ApiError(404, 'INVALID_REQUEST_BODY', `command not found: ${id}`);
  const { content, exitCode, error, startedAt, finishedAt } = run;
  json(response, 200, {
    id,
    content,
    running: finishedAt === null,
    ...(exitCode === null ? {} : { exit_code: exitCode }),
    ...(error === '' ? {} : { error }),
    started_at: startedAt.toISOString(),
    ...(finishedAt === null ? {} : { finished_at: finishedAt.toISOString() }),
  });
}

/** What a background command has written since `cursor`, as it is now. */
export async function getLogs(
  { record }: Inside,
  id: string,
  query: URLSearchParams,
  response: ServerResponse,
): Promise<void> {
  const run = runsOf(record).get(id);
  if (run === null) throw invalid(`command not found: ${id}`);
  if (run.output === null) throw invalid(`command ${id} is not running in background`);
  const asked = query.get('cursor') ?? '';
  const cursor = /^[+-]?\d{1,15}$/.test(asked) ? Number(asked) : 0;
  if (cursor < 0) throw invalid('error seek file: invalid argument');
  const end = Math.max(cursor, (await run.output.stat()).size);
  response.writeHead(200, {
    'content-type': 'text/plain; charset=utf-8',
    'execd-commands-tail-cursor': `${end}`,
    'content-length': `${end - cursor}`,
  });
  await pipeline(readSpool(run.output, cursor, end), response).catch(() => response.destroy());
}

export async function postSession(
  inside: Inside,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const prefix = 'error parsing request. ';
  const text = await readText(request);
  const fields = new Fields(
    text.trim() === '' ? {} : parseJson(text, prefix),
    'CreateSessionRequest',
    prefix,
  );
  const { id } = await createSession(inside, fields.string('cwd'));
  json(response, 200, { session_id: id });
}

export async function postSessionRun(
  inside: Inside,
  id: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const prefix = 'error parsing request. ';
  const text = await readText(request);
  const fields = new Fields(parseJson(text, prefix), 'RunInSessionRequest', prefix);
  const [command, cwd, timeoutMs] = [
    fields.string('command'),
    fields.string('cwd'),
    fields.integer('timeout', 'int64'),
  ];
  if (command === '') throw invalid(`invalid request. ${failed('RunInSessionRequest.Command', 'required')}`);
  if ((timeoutMs ?? 0) < 0) throw invalid(`invalid request. ${failed('RunInSessionRequest.Timeout', 'gte')}`);
  const session = runsOf(inside.record).sessions.get(id);
  if (session === undefined) {
    throw new ApiError(500, 'RUNTIME_ERROR', 'error running in session. context not found');
  }
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const asked = { command, cwd, timeoutMs: timeoutMs || null };
  await runInSession(inside, session, asked, new EventStream(response), gone.signal);
}

export function deleteSession(inside: Inside, id: string, response: ServerResponse): void {
  const session = runsOf(inside.record).sessions.get(id);
  if (session === undefined) throw new ApiError(404, 'CONTEXT_NOT_FOUND', `session ${id} not found`);
  closeSession(inside, session);
  response.writeHead(200, { 'content-length': 0 }).end();
}

/** Without a language it is a command; there is no Jupyter here for any of them. */
export async function postCode(
  inside: Inside,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const fields = new Fields(parseJson(await readText(request), PARSING), 'RunCodeRequest', PARSING);
  const command = fields.string('code');
  if (command === '') {
    throw invalid(VALIDATION + failed('RunCodeRequest.Code', 'required'));
  }
  const language = fields.strings('context').language ?? '';
  if (language === '') return await runInForeground(inside, { ...ALONE, command }, new EventStream(response));
  const why = /^(bash|python|java|javascript|typescript|go)$/.test(language)
    ? NO_JUPYTER
    : `unknown language: ${language}`;
  throw new ApiError(500, 'RUNTIME_ERROR', `error running codes ${why}`);
}

/** `/code/context` and `/code/contexts`, of which there are none. */
export function codeContexts(method: string, id: string | undefined, response: ServerResponse): void {
  if (method === 'POST') {
    throw new ApiError(500, 'RUNTIME_ERROR', `error creating code context. ${NO_JUPYTER}`);
  }
  if (id !== undefined) throw new ApiError(404, 'CONTEXT_NOT_FOUND', `context ${id} not found`);
  if (method === 'GET') json(response, 200, []);
  else response.writeHead(200, { 'content-length': 0 }).end();
}

const ALONE = { cwd: '', background: false, timeoutMs: null, uid: null, gid: null, envs: {} };

function parseCommand(text: string): CommandRequest {
  const fields = new Fields(parseJson(text, PARSING), 'RunCommandRequest', PARSING);
  const asked = {
    command: fields.string('command'),
    cwd: fields.string('cwd'),
    background: fields.boolean('background'),
    timeoutMs: fields.integer('timeout', 'int64') || null,
    uid: fields.integer('uid', 'uint32'),
    gid: fields.integer('gid', 'uint32'),
    envs: fields.strings('envs'),
  };
  const problem =
    asked.command === ''
      ? failed('RunCommandRequest.Command', 'required')
      : (asked.timeoutMs ?? 1) < 1
        ? failed('RunCommandRequest.TimeoutMs', 'gte')
        : asked.gid !== null && asked.uid === null
          ? 'uid is required when gid is provided'
          : null;
  if (problem !== null) throw invalid(VALIDATION + problem);
  return asked;
}

/** In the words of upstream's validator. */
function failed(field: string, rule: string): string {
  const name = field.split('.').at(-1);
  return `Key: '${field}' Error:Field validation for '${name}' failed on the '${rule}' tag`;
}
