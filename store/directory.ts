/** A store in a folder: for one machine, or for several that share a file system. */

import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { checkKey } from './keys.js';
import type { Store, StoredContent, StoredObject } from './types.js';

/** Where objects are written before they are whole; not a name that a key can have. */
const PARTS = '~parts';

/** @throws the file system's errors when the folder cannot be made. */
export async function openDirectoryStore(folder: string): Promise<Store> {
  await mkdir(join(folder, PARTS), { recursive: true, mode: 0o700 });
  const pathOf = (key: string) => {
    checkKey(key);
    return join(folder, key);
  };

  const store: Store = {
    description: folder,

    async put(key, body, signal): Promise<StoredContent> {
      const path = pathOf(key);
      const part = join(folder, PARTS, randomUUID());
      const hash = createHash('sha256');
      let sizeBytes = 0;
      try {
        await pipeline(
          chunksOf(body),
          async function* (chunks: AsyncIterable<Uint8Array>) {
            for await (const chunk of chunks) {
              hash.update(chunk);
              sizeBytes += chunk.byteLength;
              yield chunk;
            }
          },
          createWriteStream(part, { mode: 0o600 }),
          signal === undefined ? {} : { signal },
        );
        await sync(part);
        await mkdir(dirname(path), { recursive: true, mode: 0o700 });
        await rename(part, path);
        await sync(dirname(path));
      } catch (error) {
        await rm(part, { force: true });
        throw error;
      }
      return { key, sizeBytes, sha256: hash.digest('hex') };
    },

    async get(key, range) {
      const found = await store.head(key);
      if (found === null) return null;
      const { start = 0, end = found.sizeBytes } = range ?? {};
      if (start >= Math.min(end, found.sizeBytes)) return { ...found, body: Readable.from([]) };
      // `end` of a read stream is inclusive.
      return { ...found, body: createReadStream(pathOf(key), { start, end: end - 1 }) };
    },

    async head(key) {
      try {
        const { size, isFile } = await stat(pathOf(key)).then((entry) => ({
          size: entry.size,
          isFile: entry.isFile(),
        }));
        return isFile ? { key, sizeBytes: size } : null;
      } catch (error) {
        if (isAbsent(error)) return null;
        throw error;
      }
    },

    async *list(prefix, startAfter = '') {
      // Whole segments of the prefix are folders, the rest is the beginning of names.
      const base = prefix.slice(0, prefix.lastIndexOf('/') + 1);
      for await (const found of walk(folder, base)) {
        if (found.key.startsWith(prefix) && found.key > startAfter) yield found;
      }
    },

    async delete(key) {
      await rm(pathOf(key), { force: true });
    },

    async close() {},
  };
  return store;
}

function chunksOf(body: string | Uint8Array | AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  if (typeof body === 'string') return Readable.from([Buffer.from(body)]);
  return body instanceof Uint8Array ? Readable.from([body]) : body;
}

/** Files below the folder, in the order of their keys' bytes: `a.b` comes before `a/b`. */
async function* walk(folder: string, base: string): AsyncGenerator<StoredObject> {
  let entries: { name: string; isFolder: boolean }[];
  try {
    const found = await readdir(join(folder, base), { withFileTypes: true });
    entries = found
      .filter(({ name }) => name !== PARTS)
      .map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }));
  } catch (error) {
    if (isAbsent(error)) return;
    throw error;
  }
  const sortKey = (entry: { name: string; isFolder: boolean }) => entry.name + (entry.isFolder ? '/' : '');
  entries.sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
  for (const { name, isFolder } of entries) {
    const key = `${base}${name}`;
    if (isFolder) yield* walk(folder, `${key}/`);
    else {
      const entry = await stat(join(folder, key)).catch(() => null);
      if (entry !== null) yield { key, sizeBytes: entry.size };
    }
  }
}

async function sync(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

function isAbsent(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
}
