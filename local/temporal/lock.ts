/**
 * One process at a time. The lock is a folder that holds one file, named by a random ID, with the owner in it.
 * It is made elsewhere and renamed into place: a rename replaces an empty folder and never one with a file in
 * it, so it is taken whole or not at all. A dead owner is removed by its own file's name, which cannot hit
 * a successor.
 */

import { randomUUID } from 'node:crypto';
import {
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { telling } from './telling.js';

const RETRY_MS = 250;
const REFRESH_MS = 5_000;
/** An owner that has not refreshed its file for so long is gone, whatever its process ID says. */
const STALE_AFTER_MS = 60_000;

interface Owner {
  readonly host: string;
  readonly pid: number;
}

/**
 * Does the work while holding the lock. Waits for another owner, and says so; takes over from a dead one.
 * @param lock path of the lock's folder; the folder that it lies in must exist.
 */
export async function withLock<T>(
  lock: string,
  log: (line: string) => void,
  work: () => Promise<T>,
): Promise<T> {
  const id = randomUUID();
  if (!(await tryTake(lock, id))) {
    const owner = await readOwner(lock);
    log(
      `Another process${owner === null ? '' : ` (${owner.pid})`} is making it already; waiting for that one.`,
    );
    await telling('waiting for the other process', log, takeWhenFree(lock, id));
  }
  const refresh = setInterval(
    () => void utimes(join(lock, id), new Date(), new Date()).catch(() => {}),
    REFRESH_MS,
  );
  try {
    return await work();
  } finally {
    clearInterval(refresh);
    await rm(join(lock, id), { force: true });
    // Not empty or not there: somebody else has taken it in this instant.
    await rmdir(lock).catch(() => {});
  }
}

async function takeWhenFree(lock: string, id: string): Promise<void> {
  do await sleep(RETRY_MS);
  while (!(await tryTake(lock, id)));
}

async function tryTake(lock: string, id: string): Promise<boolean> {
  await removeDeadOwner(lock);
  if ((await ownerFile(lock)) !== null) return false;
  const draft = `${lock}-${id}`;
  const owner: Owner = { host: hostname(), pid: process.pid };
  await mkdir(draft);
  await writeFile(join(draft, id), JSON.stringify(owner));
  try {
    await rename(draft, lock);
    return true;
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTEMPTY' || code === 'EEXIST') return false;
    throw error;
  }
}

async function removeDeadOwner(lock: string): Promise<void> {
  const file = await ownerFile(lock);
  if (file === null) return;
  const owner = await readOwner(lock);
  const refreshedAt = await stat(file).then(
    ({ mtimeMs }) => mtimeMs,
    () => Date.now(),
  );
  const isStale = Date.now() - refreshedAt > STALE_AFTER_MS;
  // A process ID of another machine, or of another container on a shared cache, tells nothing here.
  const isDead = owner !== null && owner.host === hostname() && !isAlive(owner.pid);
  if (isStale || isDead) await unlink(file).catch(() => {});
}

async function ownerFile(lock: string): Promise<string | null> {
  const [name] = await readdir(lock).catch(() => []);
  return name === undefined ? null : join(lock, name);
}

async function readOwner(lock: string): Promise<Owner | null> {
  const file = await ownerFile(lock);
  const text = file === null ? '' : await readFile(file, 'utf8').catch(() => '');
  return text === '' ? null : (JSON.parse(text) as Owner);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
