/** Programs: where they lie, and running one to its end. */

import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, resolve } from 'node:path';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface RunOptions {
  /** The whole environment; the program itself is looked up on its PATH. */
  readonly env: Environment;
  /** Absent: as long as it takes. */
  readonly timeoutMs?: number;
}

/** Enough of standard error to hold a reason, too little to hide it. */
const REASON_LINES = 3;

/**
 * @returns its standard output.
 * @throws Error for people: what is missing, how long it took, or its last lines on standard error.
 */
export function run(program: string, args: readonly string[], options: RunOptions): Promise<string> {
  const { env, timeoutMs = 0 } = options;
  return new Promise((done, fail) => {
    const settings = { env: { ...env }, timeout: timeoutMs, maxBuffer: 64 * 2 ** 20 };
    execFile(program, args, settings, (error, stdout, stderr) => {
      if (error === null) return done(stdout);
      if (error.code === 'ENOENT') return fail(new Error(`${program} is not installed`));
      if (error.killed) return fail(new Error(`${program} did not end within ${timeoutMs / 1000} s`));
      const said = stderr.trim().split('\n').filter(Boolean).slice(-REASON_LINES).join(' | ');
      const ended = error.signal ?? `exit code ${error.code}`;
      fail(new Error(said === '' ? `${program} ended with ${ended}` : said));
    });
  });
}

/** @returns absolute paths of the executable files with this name, in the order of PATH. */
export async function allOnPath(name: string, env: Environment): Promise<string[]> {
  const candidates = (env.PATH ?? '')
    .split(delimiter)
    .filter(Boolean)
    .map((folder) => resolve(folder, name));
  const usable = await Promise.all(candidates.map(isExecutableFile));
  return candidates.filter((_, index) => usable[index]);
}

export async function isExecutableFile(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
