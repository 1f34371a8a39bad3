/** `/files` and `/directories`, but for upload and download. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';

import type { Inside } from './inside.js';
import { operate } from './operate.js';
import { permissionOf } from './permission.js';
import { Fields, invalid, missingQuery, PARSING, parseJson, readText } from './requests.js';

export async function filesInfo(
  inside: Inside,
  query: URLSearchParams,
  response: ServerResponse,
): Promise<void> {
  await answer(inside, response, 'info', { paths: query.getAll('path') });
}

export async function searchFiles(
  inside: Inside,
  query: URLSearchParams,
  response: ServerResponse,
): Promise<void> {
  const path = query.get('path') || null;
  if (path === null) throw missingQuery('path');
  await answer(inside, response, 'search', { path, pattern: query.get('pattern') || '**' });
}

export async function listFolder(
  inside: Inside,
  query: URLSearchParams,
  response: ServerResponse,
): Promise<void> {
  const path = query.get('path') || null;
  if (path === null) throw missingQuery('path');
  const depth = query.get('depth') || '1';
  if (!/^\+?\d{1,9}$/.test(depth)) throw invalid(`invalid query parameter 'depth': ${depth}`);
  await answer(inside, response, 'list_folder', { path, depth: Number(depth) });
}

export async function removeFiles(
  inside: Inside,
  query: URLSearchParams,
  response: ServerResponse,
): Promise<void> {
  await answer(inside, response, 'remove_files', { paths: query.getAll('path') });
}

export async function removeFolders(
  inside: Inside,
  query: URLSearchParams,
  response: ServerResponse,
): Promise<void> {
  await answer(inside, response, 'remove_folders', { paths: query.getAll('path') });
}

export async function changePermissions(
  inside: Inside,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  await answer(inside, response, 'permissions', { items: await readPermissions(request) });
}

export async function makeFolders(
  inside: Inside,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  await answer(inside, response, 'make_folders', { items: await readPermissions(request) });
}

export async function moveFiles(
  inside: Inside,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = parseJson(await readText(request), PARSING);
  if (!Array.isArray(body)) {
    throw invalid(`${PARSING}json: cannot unmarshal object into Go value of type []model.RenameFileItem`);
  }
  const items = body.map((each) => {
    const fields = new Fields(each, 'RenameFileItem', PARSING);
    return { src: fields.string('src'), dest: fields.string('dest') };
  });
  await answer(inside, response, 'move', { items });
}

export async function replaceContent(
  inside: Inside,
  query: URLSearchParams,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const fields = new Fields(
    parseJson(await readText(request), PARSING),
    'map[string]model.ReplaceFileContentItem',
    PARSING,
  );
  const items = Object.fromEntries(
    fields
      .each('ReplaceFileContentItem')
      .map(([path, item]) => [path, { old: item.string('old'), new: item.string('new') }]),
  );
  await answer(inside, response, 'replace', { items, verbose: query.get('verbose') === 'true' });
}

async function readPermissions(request: IncomingMessage): Promise<Record<string, unknown>> {
  const body = parseJson(await readText(request), PARSING);
  const fields = new Fields(body, 'map[string]model.Permission', PARSING);
  return Object.fromEntries(fields.each('Permission').map(([path, item]) => [path, permissionOf(item)]));
}

/** What the operation says, or nothing. */
async function answer(
  inside: Inside,
  response: ServerResponse,
  operation: string,
  args: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { head, body } = await operate(inside, operation, args);
  const length = Number(head.length);
  response.writeHead(200, {
    'content-length': `${length}`,
    ...(length > 0 ? { 'content-type': 'application/json; charset=utf-8' } : {}),
  });
  await pipeline(body, response).catch(() => response.destroy());
}
