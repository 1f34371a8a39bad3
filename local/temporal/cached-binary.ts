/**
 * A binary that is fetched or built once and kept in a folder of its own. Two processes that want it at the
 * same time do not get in each other's way: one makes it, the other waits; and nobody ever sees half of one.
 */

import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { withLock } from './lock.js';
import { isExecutableFile } from './run.js';
import { telling } from './telling.js';

const WORK_FOLDER = '.making-';

export interface Maker<Source extends string> {
  readonly source: Source;
  /** For people, e.g. `go install …`. */
  readonly name: string;
  /** What is being done, why, and how long it takes; said before it begins. */
  readonly announcement: string;
  /** Completes "still …", e.g. `building with Go`. */
  readonly doing: string;
  /** Makes the binary somewhere in the empty folder, and says where. Throws when it cannot be had this way. */
  readonly make: (folder: string) => Promise<string>;
}

export interface CachedBinary<Source extends string> {
  /** Absolute. The folder that it lies in belongs to it alone. */
  readonly path: string;
  /** Tried in their order. */
  readonly makers: readonly Maker<Source>[];
  /** Throws the reason when the binary does not run on this machine. */
  readonly check: (path: string) => Promise<unknown>;
  readonly log: (line: string) => void;
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

/** @throws CannotBeMadeError, also when the cache cannot be written. */
export async function cachedBinary<Source extends string>(
  wanted: CachedBinary<Source>,
): Promise<{ readonly path: string; readonly source: Source | 'cache' }> {
  const { path, log } = wanted;
  const kept = await whyNotUsable(wanted);
  if (kept === null) return { path, source: 'cache' };
  const folder = dirname(path);
  try {
    await mkdir(folder, { recursive: true });
    return await withLock(join(folder, '.lock'), log, async () => {
      if ((await whyNotUsable(wanted)) === null) return { path, source: 'cache' };
      await removeLeftovers(folder);
      return { path, source: await makeFirstThatWorks(wanted, `cache: ${kept}`) };
    });
  } catch (error) {
    if (error instanceof CannotBeMadeError) throw error;
    throw new CannotBeMadeError([`cache: ${kept}, and it cannot be written: ${messageOf(error)}`]);
  }
}

async function whyNotUsable({ path, check }: CachedBinary<string>): Promise<string | null> {
  if (!(await isExecutableFile(path))) return `${path} is not there`;
  return check(path).then(
    () => null,
    (error) => `${path} does not run: ${messageOf(error)}`,
  );
}

async function makeFirstThatWorks<Source extends string>(
  { path, makers, check, log }: CachedBinary<Source>,
  firstReason: string,
): Promise<Source> {
  const reasons = [firstReason];
  for (const { source, name, announcement, doing, make } of makers) {
    const folder = await mkdtemp(join(dirname(path), WORK_FOLDER));
    try {
      log(announcement);
      const made = await telling(doing, log, make(folder));
      await chmod(made, 0o755);
      await check(made);
      await rename(made, path);
      return source;
    } catch (error) {
      reasons.push(`${name}: ${messageOf(error)}`);
      log(`  That did not work: ${messageOf(error)}`);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  throw new CannotBeMadeError(reasons);
}

/** Of makers that were killed; the lock says that none is at work now. */
async function removeLeftovers(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.startsWith(WORK_FOLDER));
  for (const name of names) await rm(join(folder, name), { recursive: true, force: true });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
