/**
 * execd, the daemon that OpenSandbox has in every sandbox for commands and files, without a daemon: this server answers
 * in its place at its port. Forms, codes and texts are those of execd of June 2026; what has no meaning here (`/pty`,
 * Jupyter) answers as an execd that was built without it.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '../errors.js';

import { refuseUnreachable } from '../reach.js';
import type { Sandboxes } from '../sandboxes.js';
import { json } from './answers.js';
import * as commands from './command-routes.js';
import { download } from './download.js';
import * as files from './file-routes.js';
import type { Inside } from './inside.js';
import { getMetrics, watchMetrics } from './metrics.js';
import { upload } from './upload.js';

/** By which every client knows it. */
export const EXECD_PORT = 44_772;

const FROZEN_TICK_MS = 20;

/**
 * @param path with its query, as it came.
 * @throws ApiError when the sandbox cannot be reached; what execd itself refuses is an answer.
 */
export async function serveExecd(
  sandboxes: Sandboxes,
  { id, path }: { readonly id: string; readonly path: string },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  await whileFrozen(sandboxes, id, response);
  const record = sandboxes.get(id);
  refuseUnreachable(record);
  if (response.destroyed) return;
  const inside = { record, place: sandboxes.steps.placeOf(record), sandboxes };
  const [pathname = '', ...search] = path.split('?');
  try {
    await route(inside, pathname, new URLSearchParams(search.join('?')), request, response);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // What the client is still sending must go somewhere.
    request.resume();
    const { status, code, message } = error;
    if (response.headersSent) response.destroy();
    else json(response, status, { code, message });
  }
}

/** Frozen, execd would hear nothing, and answer after the resume. */
async function whileFrozen(sandboxes: Sandboxes, id: string, response: ServerResponse): Promise<void> {
  const deadline = Date.now() + sandboxes.steps.machine.answerTimeoutMs;
  while (sandboxes.get(id).frozen !== null && !response.destroyed) {
    if (Date.now() > deadline) {
      const message = `The backend sandbox ${id}:${EXECD_PORT} did not respond in time.`;
      throw new ApiError(504, 'BACKEND_TIMEOUT', message);
    }
    await sleep(FROZEN_TICK_MS);
  }
}

async function route(
  inside: Inside,
  path: string,
  query: URLSearchParams,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const segments = path.split('/').slice(1).map(decode);
  const [group, first = '', second = ''] = segments;
  const isNested = group === 'session' || group === 'command' || first === 'contexts';
  const pattern = isNested ? nestedPattern(segments) : segments.join('/');
  switch (`${request.method} ${pattern}`) {
    case 'GET ping':
      response.writeHead(200, { 'content-length': 0 }).end();
      return;
    case 'POST command':
      return await commands.postCommand(inside, request, response);
    case 'DELETE command':
    case 'DELETE code':
      return await commands.interrupt(inside, query, response);
    case 'GET command/status/{id}':
      return commands.getStatus(inside, second, response);
    case 'GET command/{id}/logs':
      return await commands.getLogs(inside, first, query, response);
    case 'POST session':
      return await commands.postSession(inside, request, response);
    case 'POST session/{id}/run':
      return await commands.postSessionRun(inside, first, request, response);
    case 'DELETE session/{id}':
      return commands.deleteSession(inside, first, response);
    case 'POST code':
      return await commands.postCode(inside, request, response);
    case 'POST code/context':
    case 'GET code/contexts':
    case 'DELETE code/contexts':
      return commands.codeContexts(request.method ?? '', undefined, response);
    case 'GET code/contexts/{id}':
    case 'DELETE code/contexts/{id}':
      return commands.codeContexts(request.method ?? '', second, response);
    case 'GET files/info':
      return await files.filesInfo(inside, query, response);
    case 'GET files/search':
      return await files.searchFiles(inside, query, response);
    case 'GET files/download':
      return await download(inside, query, request, response);
    case 'POST files/upload':
      return await upload(inside, request, response);
    case 'POST files/mv':
      return await files.moveFiles(inside, request, response);
    case 'POST files/permissions':
      return await files.changePermissions(inside, request, response);
    case 'POST files/replace':
      return await files.replaceContent(inside, query, request, response);
    case 'DELETE files':
      return await files.removeFiles(inside, query, response);
    case 'GET directories/list':
      return await files.listFolder(inside, query, response);
    case 'POST directories':
      return await files.makeFolders(inside, request, response);
    case 'DELETE directories':
      return await files.removeFolders(inside, query, response);
    case 'GET metrics':
      return await getMetrics(response);
    case 'GET metrics/watch':
      return await watchMetrics(response);
    default:
      request.resume();
      response.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found');
  }
}

/** With `{id}` in the place of what may be anything. */
function nestedPattern(segments: readonly string[]): string {
  const at = segments[1] === 'status' || segments[1] === 'contexts' ? 2 : 1;
  return segments.map((segment, index) => (index === at ? '{id}' : segment)).join('/');
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
