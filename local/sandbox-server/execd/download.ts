/** `GET /files/download`, with the peculiarities of upstream's ranges. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';

import { json } from './answers.js';
import type { Inside } from './inside.js';
import { operate } from './operate.js';
import { missingQuery } from './requests.js';

interface Range {
  readonly start: number;
  readonly length: number;
}

export async function download(
  inside: Inside,
  query: URLSearchParams,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = query.get('path') ?? '';
  if (path === '') throw missingQuery('path');
  const { head, body, process } = await operate(inside, 'download', { path });
  const size = Number(head.size);
  const headers = {
    'content-type': 'application/octet-stream',
    'content-disposition': disposition(String(head.name)),
  };
  const asked = request.headers.range;
  const range = asked === undefined ? null : parseRange(asked, size);
  const isRefused = asked !== undefined && (range === 'invalid' || range === 'beyond');
  const wanted =
    range === null || range === 'invalid' || range === 'beyond' ? { start: 0, length: size } : range;
  process.stdin.end(inBytes(isRefused ? { start: 0, length: 0 } : wanted));
  if (isRefused) {
    body.resume();
    if (range === 'invalid') return json(response, 416, { code: 'UNKNOWN' });
    response.writeHead(416, {
      'content-type': 'text/plain; charset=utf-8',
      'content-range': `bytes */${size}`,
    });
    response.end('invalid range: failed to overlap\n');
    return;
  }
  const length = { 'content-length': `${wanted.length}` };
  if (asked === undefined) {
    const modified = new Date(Number(head.modified) * 1000).toUTCString();
    response.writeHead(200, { ...headers, ...length, 'accept-ranges': 'bytes', 'last-modified': modified });
  } else {
    const last = wanted.start + wanted.length - 1;
    const contentRange = `bytes ${wanted.start}-${last}/${size}`;
    response.writeHead(206, { ...headers, ...length, 'content-range': contentRange });
  }
  response.flushHeaders();
  // A file that became shorter meanwhile ends the connection, so that nobody takes it for whole.
  await pipeline(body, response).catch(() => response.destroy());
}

/** The first that fits. `beyond`: none overlaps the file. Pure. */
export function parseRange(text: string, size: number): Range | 'invalid' | 'beyond' {
  if (!text.startsWith('bytes=')) return 'invalid';
  const parts = text
    .slice('bytes='.length)
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  let first: Range | null = null;
  for (const part of parts) {
    const [, from, to] = /^(\d{0,15})\s*-\s*(\d{0,15})$/.exec(part) ?? [];
    if (from === undefined || to === undefined || (from === '' && to === '')) return 'invalid';
    if (from !== '' && to !== '' && Number(to) < Number(from)) return 'invalid';
    const start = from === '' ? Math.max(0, size - Number(to)) : Number(from);
    const end = from === '' || to === '' ? size : Math.min(size, Number(to) + 1);
    if (start < size) first ??= { start, length: end - start };
  }
  return first ?? 'beyond';
}

function inBytes({ start, length }: Range): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.writeBigUInt64BE(BigInt(start), 0);
  bytes.writeBigUInt64BE(BigInt(length), 8);
  return bytes;
}

/** The second form is for names that headers cannot carry. */
function disposition(name: string): string {
  const isPlain = /^[\x20-\x7e]*$/.test(name);
  const encoded = encodeURIComponent(name);
  return isPlain
    ? `attachment; filename="${name}"`
    : `attachment; filename="${encoded}"; filename*=UTF-8''${encoded}`;
}
