/**
 * A store in a folder: for one machine, or for several that share a file system. An object is a file whose path is
 * its key, so no key can go on below another one (`a` and `a/b`).
 */

import { constants } from 'node:fs';
import { access, mkdir, open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { checkRange, measure } from './content.js';
import { isAbsent, told } from './directory-errors.js';
import { walk } from './directory-walk.js';
import { removeLeftovers, writeWhole } from './directory-write.js';
import { checkKey, checkPrefix } from './keys.js';
import type { Store, StoredObject } from './types.js';

/** Where objects are written before they are whole; not a name that a key can have. */
const PARTS = '~parts';

/**
 * Only the owner may read what it writes.
 * @throws StoreError when the folder cannot be made or written.
 */
export async function openDirectoryStore(folder: string): Promise<Store> {
  const parts = join(folder, PARTS);
  try {
    await mkdir(parts, { recursive: true, mode: 0o700 });
    await access(parts, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw told(error, folder, 'cannot be opened');
  }
  await removeLeftovers(parts);

  return {
    description: folder,

    async put(key, body, signal) {
      checkKey(key);
      const measured = measure(body, signal);
      try {
        signal?.throwIfAborted();
        await writeWhole(join(folder, key), parts, measured.chunks);
      } catch (error) {
        if (measured.cameFromBody(error) || (signal?.aborted && error === signal.reason)) throw error;
        throw told(error, folder, `cannot write ${key}`);
      } finally {
        measured.release();
      }
      return measured.contentOf(key);
    },

    async get(key, range) {
      checkKey(key);
      if (range !== undefined) checkRange(range);
      const file = await open(join(folder, key)).catch((error) => nullIfAbsent(error, key));
      if (file === null) return null;
      // Of the open file, since another one may take its place meanwhile.
      const entry = await file.stat();
      const { start = 0, end = entry.size } = range ?? {};
      if (entry.isFile() && start < Math.min(end, entry.size)) {
        // `end` of a read stream is inclusive.
        const body = file.createReadStream({ start, end: end - 1 });
        return { key, sizeBytes: entry.size, body };
      }
      await file.close();
      return entry.isFile() ? { key, sizeBytes: entry.size, body: Readable.from([]) } : null;
    },

    async head(key) {
      checkKey(key);
      const entry = await stat(join(folder, key)).catch((error) => nullIfAbsent(error, key));
      return entry?.isFile() ? { key, sizeBytes: entry.size } : null;
    },

    async *list(prefix, startAfter = ''): AsyncGenerator<StoredObject> {
      checkPrefix(prefix);
      try {
        yield* walk(folder, prefix, startAfter);
      } catch (error) {
        throw told(error, folder, `cannot list ${prefix || 'its objects'}`);
      }
    },

    async delete(key) {
      checkKey(key);
      await rm(join(folder, key)).catch((error) => nullIfAbsent(error, key));
    },

    async close() {},
  };

  function nullIfAbsent(error: unknown, key: string): null {
    if (isAbsent(error)) return null;
    throw told(error, folder, `does not give access to ${key}`);
  }
}
