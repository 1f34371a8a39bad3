/** Lists the files of a folder as a flat space of keys. */

import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isAbsent } from './directory-errors.js';
import { isKey } from './keys.js';
import type { StoredObject } from './types.js';

/** In the order of the keys' bytes: `a.b` comes before `a/b`. Folders that cannot hold a wanted key are not read. */
export async function* walk(
  folder: string,
  prefix: string,
  startAfter: string,
): AsyncGenerator<StoredObject> {
  // Whole segments of the prefix are folders, the rest is the beginning of names.
  yield* below(prefix.slice(0, prefix.lastIndexOf('/') + 1));

  async function* below(base: string): AsyncGenerator<StoredObject> {
    const entries = await entriesOf(join(folder, base));
    const keys = entries
      // What else lies in the folder was not put there by the store.
      .filter((entry) => isKey(entry.name) && (entry.isFile() || entry.isDirectory()))
      .map((entry) => `${base}${entry.name}${entry.isDirectory() ? '/' : ''}`)
      .filter((key) => key.startsWith(prefix) && (key > startAfter || holds(key, startAfter)))
      .sort((a, b) => (a < b ? -1 : 1));
    for (const key of keys) {
      if (key.endsWith('/')) yield* below(key);
      else {
        const sizeBytes = await sizeOf(join(folder, key));
        if (sizeBytes !== null) yield { key, sizeBytes };
      }
    }
  }
}

function holds(folderKey: string, key: string): boolean {
  return folderKey.endsWith('/') && key.startsWith(folderKey);
}

async function entriesOf(path: string): Promise<Dirent[]> {
  try {
    return await readdir(path, { withFileTypes: true });
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

async function sizeOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}
