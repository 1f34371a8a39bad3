/** Opens the store that a location names. */

import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDirectoryStore } from './directory.js';
import { StoreError } from './errors.js';
import type { Store } from './types.js';

export { StoreError } from './errors.js';
export { appendEvents, jobPrefix, listRunChains, readEvents } from './journal.js';
export { keySegment } from './keys.js';
export type * from './types.js';

/**
 * @param location an absolute path, a `file://` URL, or `s3://bucket/prefix`.
 * @param env for S3: `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, `AWS_REGION` and the credentials. What is not in it,
 * the AWS SDK looks for where it always does.
 * @throws StoreError for a location that names no store, and for a folder that cannot be written. Whether a bucket
 * is there shows at the first use: a worker must be able to start while S3 is away.
 */
export async function openStore(
  location: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Store> {
  if (location.startsWith('s3://')) return (await loadS3()).openS3Store(location, env);
  return openDirectoryStore(folderOf(location));
}

function folderOf(location: string): string {
  if (isAbsolute(location)) return location;
  try {
    if (location.startsWith('file://')) return fileURLToPath(location);
  } catch {
    throw new StoreError(`"${location}" names no folder of this machine; write "file:///path".`);
  }
  throw new StoreError(
    `"${location}" names no store; write an absolute path, "file:///path", or "s3://bucket/prefix".`,
  );
}

/** The SDK takes longer to load than most commands run, and may have been left out of the installation. */
async function loadS3(): Promise<typeof import('./s3.js')> {
  try {
    return await import('./s3.js');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new StoreError('A store in S3 needs the AWS SDK: npm install @aws-sdk/client-s3');
  }
}
