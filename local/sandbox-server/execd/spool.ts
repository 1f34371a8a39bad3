/** Files without a name: what is in them is gone with the last process that holds them, however that ends. */

import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Inside } from './inside.js';

export type Spool = FileHandle;

const BLOCK_BYTES = 64 * 1024;

/** The sandbox's user may open it anew, as programs do with /dev/stdout. */
export async function openSpool({ place }: Inside, flags: 'wx+' | 'ax+' = 'wx+'): Promise<Spool> {
  const path = join(place.home, `spool-${randomUUID()}`);
  const file = await open(path, flags, 0o600);
  try {
    await unlink(path);
    if (place.uid !== null) await file.chown(place.uid, place.uid);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** What is in it from `start` to before `end`. */
export async function* readSpool(spool: Spool, start: number, end: number): AsyncGenerator<Buffer> {
  for (let position = start; position < end; ) {
    const length = Math.min(BLOCK_BYTES, end - position);
    const { bytesRead, buffer } = await spool.read(Buffer.allocUnsafe(length), 0, length, position);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    position += bytesRead;
  }
}
