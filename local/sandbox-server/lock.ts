/** One server per data folder: two would each kill what the other one runs. */

import { linkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { identify, isAlive, type ProcessIdentity, readText } from './processes.js';

/**
 * Takes the folder's lock; one left by a server that no longer lives is taken over.
 * @returns a function that gives it back.
 * @throws Error that names the process which holds it.
 */
export function lockFolder(folder: string): () => void {
  const file = join(folder, 'lock');
  const mine = JSON.stringify(identify(process.pid));
  const draft = join(folder, `lock.${process.pid}`);
  writeFileSync(draft, mine);
  try {
    for (;;) {
      // A hard link is made whole or not at all, and never over an existing one.
      if (tryLink(draft, file)) return () => readText(file) === mine && rmSync(file, { force: true });
      const held = readText(file);
      const holder = parse(held);
      if (isAlive(holder)) {
        throw new Error(
          `The data folder ${folder} is in use by another sandbox server (process ${holder.pid}). Stop that one, or give this one another folder.`,
        );
      }
      setAside(file, held, join(folder, `lock.stale.${process.pid}`));
    }
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Two servers may find the same stale lock: what was moved is put back when it was not that one. */
function setAside(file: string, stale: string, aside: string): void {
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  if (readText(aside) !== stale) tryLink(aside, file);
  rmSync(aside, { force: true });
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function parse(text: string): ProcessIdentity | null {
  try {
    return JSON.parse(text) as ProcessIdentity;
  } catch {
    return null;
  }
}
