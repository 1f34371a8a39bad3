/** Opens the store that a location names. */

import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDirectoryStore } from './directory.js';
import type { Store } from './types.js';

export { appendEvents, jobPrefix, readEvents } from './journal.js';
export { keySegment } from './keys.js';
export type * from './types.js';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * @param location an absolute path or a `file://` URL.
 * @throws TypeError for a location that names no store; the file system's errors.
 */
export async function openStore(location: string, _env: Environment): Promise<Store> {
  if (location.startsWith('file://')) return openDirectoryStore(fileURLToPath(location));
  if (isAbsolute(location)) return openDirectoryStore(location);
  throw new TypeError(`"${location}" names no store; write an absolute path or a file:// URL.`);
}
