/** What a file system said, in words that help. */

import { StoreError } from './errors.js';

const MEANINGS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied; it must belong to the user who runs this',
  EDQUOT: 'the quota of the user is used up',
  EEXIST: 'a part of its path is a file, not a folder',
  EISDIR: 'other objects have this key as the beginning of theirs',
  EMFILE: 'this process has too many files open',
  ENOSPC: 'no space is left on the device',
  ENOTDIR: 'a part of its path is a file, not a folder',
  EPERM: 'permission denied; it must belong to the user who runs this',
  EROFS: 'the file system is read-only',
};

/** @param what completes "The store …", e.g. `cannot write a/b`. */
export function told(error: unknown, folder: string, what: string): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined) return error;
  const meaning = MEANINGS[code];
  return new StoreError(
    `The store ${folder} ${what}: ${meaning === undefined ? message : `${meaning} (${code})`}.`,
  );
}

export function isAbsent(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
}
