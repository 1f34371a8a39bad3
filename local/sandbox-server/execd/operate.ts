/** Has an operation on files done inside a sandbox. */

import type { Readable } from 'node:stream';
import { ApiError } from '../errors.js';
import { CHANGE_SCRIPT } from './change-script.js';
import { type Inside, type InsideProcess, startInside } from './inside.js';
import { LOOK_SCRIPT } from './look-script.js';

/** First line of what it says; a sandbox may try to forge it, and can only deceive its own clients so. */
const MAX_HEAD_BYTES = 64 * 1024;

export interface Operation {
  /** `status`, and what the operation says beyond it. */
  readonly head: Readonly<Record<string, unknown>>;
  /** What follows the head. */
  readonly body: Readable;
  readonly process: InsideProcess;
}

/**
 * @param files descriptors that it finds as 3, 4 and so on.
 * @throws ApiError when it is refused, or ends without a word.
 */
export async function operate(
  inside: Inside,
  operation: string,
  args: Readonly<Record<string, unknown>>,
  files: readonly number[] = [],
): Promise<Operation> {
  const process = startInside(inside, LOOK_SCRIPT + CHANGE_SCRIPT, { operation, arguments: args }, files);
  const head = await readHead(process.stdout);
  const { status, code, message } = head ?? {};
  if (status === 200 && head !== null) return { head, body: process.stdout, process };
  process.stdout.destroy();
  process.stdin.destroy();
  if (head === null) throw new ApiError(500, 'RUNTIME_ERROR', 'error accessing file: the sandbox has ended');
  throw new ApiError(Number(status), String(code), String(message));
}

async function readHead(stream: Readable): Promise<Record<string, unknown> | null> {
  let read: Buffer = Buffer.alloc(0);
  const ended = new Promise<void>((resolve) => {
    stream.once('end', resolve);
    stream.once('close', resolve);
  });
  for (;;) {
    const chunk = stream.read() as Buffer | null;
    if (chunk === null) {
      if (stream.readableEnded || stream.destroyed) return null;
      const isReadable = new Promise<void>((resolve) => stream.once('readable', resolve));
      await Promise.race([isReadable, ended]);
      continue;
    }
    read = Buffer.concat([read, chunk]);
    const end = read.indexOf('\n');
    if (end === -1 && read.length <= MAX_HEAD_BYTES) continue;
    if (end === -1) return null;
    if (end + 1 < read.length) stream.unshift(read.subarray(end + 1));
    return parseHead(read.toString('utf8', 0, end));
  }
}

function parseHead(line: string): Record<string, unknown> | null {
  try {
    const head: unknown = JSON.parse(line);
    return typeof head === 'object' && head !== null ? (head as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
