/** What finding either of Temporal's servers has in common: PATH, then the cache, then the ways to make it. */

import { type CachedBinary, CannotBeMadeError, cachedBinary } from './cached-binary.js';
import { allOnPath, type Environment } from './run.js';

export interface FindOptions {
  /** Absolute. What is fetched or built is kept here. */
  readonly cacheDir: string;
  /** Variables and PATH are read from it, and every program that is run gets it. */
  readonly env: Environment;
  /** Hears what is being done, since it may take minutes. */
  readonly log: (line: string) => void;
}

/** No Temporal server on this machine and no way to one. The message lists what was tried and what helps. */
export class TemporalUnavailableError extends Error {
  override readonly name = 'TemporalUnavailableError';
  readonly code = 'TEMPORAL_UNAVAILABLE';
}

export interface Wanted<Source extends string> extends CachedBinary<Source> {
  /** For people, e.g. `Temporal's dev server`. */
  readonly what: string;
  /** Name of the command on PATH. */
  readonly command: string;
  readonly env: Environment;
  readonly remedies: readonly string[];
}

/** @throws TemporalUnavailableError */
export async function findOrMake<Source extends string>(
  wanted: Wanted<Source>,
): Promise<{ readonly path: string; readonly source: Source | 'path' | 'cache' }> {
  const tried: string[] = [];
  for (const path of await allOnPath(wanted.command, wanted.env)) {
    try {
      await wanted.check(path);
      return { path, source: 'path' };
    } catch (error) {
      tried.push(`PATH: ${path} does not run: ${(error as Error).message}`);
    }
  }
  if (tried.length === 0) tried.push(`PATH: it has no ${wanted.command}`);
  try {
    return await cachedBinary(wanted);
  } catch (error) {
    if (!(error instanceof CannotBeMadeError)) throw error;
    throw new TemporalUnavailableError(
      [
        `${wanted.what} could not be found or made. Tried:`,
        ...[...tried, ...error.reasons].map((line) => `  - ${line}`),
        'What helps, any one of:',
        ...wanted.remedies.map((line) => `  - ${line}`),
      ].join('\n'),
    );
  }
}
