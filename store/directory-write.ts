/** Files that are there whole or not at all, also after the machine lost its power. */

import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Of writers that were killed. One that is alive touches its file far more often. */
const LEFTOVER_AFTER_MS = 24 * 3_600_000;

/** @param parts a folder of the same file system, since only there a rename is atomic. */
export async function writeWhole(
  path: string,
  parts: string,
  chunks: AsyncIterable<Uint8Array>,
): Promise<void> {
  const part = join(parts, randomUUID());
  try {
    // Somebody may have cleaned up while this process runs.
    await mkdir(parts, { recursive: true, mode: 0o700 });
    const file = await open(part, 'wx', 0o600);
    try {
      // Unlike `write`, never only a part of it; goes on where the one before ended.
      for await (const chunk of chunks) await file.writeFile(chunk);
      await file.sync();
    } finally {
      await file.close();
    }
    const made = await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await rename(part, path);
    await syncNames(dirname(path), made === undefined ? dirname(path) : dirname(made));
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

/** Never fails: whoever cannot remove them can still read and write objects. */
export async function removeLeftovers(parts: string): Promise<void> {
  for (const name of await readdir(parts).catch(() => [])) {
    const part = join(parts, name);
    const entry = await stat(part).catch(() => null);
    if (entry !== null && Date.now() - entry.mtimeMs > LEFTOVER_AFTER_MS)
      await rm(part, { force: true }).catch(() => {});
  }
}

/** A name is safe when the folder that holds it is: those of the file and of all folders made for it. */
async function syncNames(lowest: string, highest: string): Promise<void> {
  for (let folder = lowest; ; folder = dirname(folder)) {
    const handle = await open(folder);
    await handle.sync().finally(() => handle.close());
    if (folder.length <= highest.length) return;
  }
}
