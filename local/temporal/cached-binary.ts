/**
 * A binary that is fetched or built once and kept. Two processes that want it at the same time do not get
 * in each other's way: one makes it, the other waits; and nobody ever sees half of one.
 */

import { chmod, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const TELL_EVERY_MS = 15_000;
const WAIT_MS = 500;

export interface Maker {
  /** For people, e.g. `Go (go install …)`. */
  readonly name: string;
  /** What is being done, and how long it takes; said before it begins. */
  readonly announcement: string;
  /** Makes the binary somewhere in the empty folder, and says where. Throws when it cannot be had this way. */
  readonly make: (folder: string) => Promise<string>;
}

export interface Made {
  readonly path: string;
  /** Name of the maker; `cache` when it was there already. */
  readonly by: string;
}

/** None of the ways worked. `reasons` has one line for each. */
export class CannotBeMadeError extends Error {
  override readonly name = 'CannotBeMadeError';
  readonly reasons: readonly string[];

  constructor(reasons: readonly string[]) {
    super(reasons.join('\n'));
    this.reasons = reasons;
  }
}

/**
 * @param path where the binary is kept.
 * @param makers tried in their order.
 * @throws CannotBeMadeError
 */
export async function cachedBinary(
  path: string,
  makers: readonly Maker[],
  log: (line: string) => void,
): Promise<Made> {
  if (await exists(path)) return { path, by: 'cache' };
  await mkdir(dirname(path), { recursive: true });
  return withLock(`${path}.lock`, log, async () => {
    if (await exists(path)) return { path, by: 'cache' };
    const reasons: string[] = [];
    for (const maker of makers) {
      const folder = await mkdtemp(join(dirname(path), `.${basename(path)}-`));
      try {
        log(maker.announcement);
        const made = await telling(maker.name, log, maker.make(folder));
        await chmod(made, 0o755);
        await rename(made, path);
        return { path, by: maker.name };
      } catch (error) {
        reasons.push(`${maker.name}: ${error instanceof Error ? error.message : error}`);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    }
    throw new CannotBeMadeError(reasons);
  });
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile() && found.size > 0,
    () => false,
  );
}

/** Says every now and then that the work still goes on. */
async function telling<T>(name: string, log: (line: string) => void, work: Promise<T>): Promise<T> {
  const startedAt = Date.now();
  const timer = setInterval(
    () => log(`  … still at it (${name}, ${Math.round((Date.now() - startedAt) / 1000)} s)`),
    TELL_EVERY_MS,
  );
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

/** The lock is a file with the owner's process ID; one whose owner is gone is taken over. */
async function withLock<T>(lock: string, log: (line: string) => void, work: () => Promise<T>): Promise<T> {
  for (let waited = false; !(await takeLock(lock)); waited = true) {
    if (!waited) log(`Another process is at this already; waiting for it (${lock}).`);
    await sleep(WAIT_MS);
  }
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

async function takeLock(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, `${process.pid}`, { flag: 'wx' });
    return true;
  } catch {
    const owner = Number(await readFile(lock, 'utf8').catch(() => ''));
    // An empty file was created this instant, or its writer died in that instant: age decides.
    const ageMs =
      Date.now() -
      (await stat(lock).then(
        ({ mtimeMs }) => mtimeMs,
        () => Date.now(),
      ));
    if (owner > 0 ? !isAlive(owner) : ageMs > 10_000) await rm(lock, { force: true });
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
