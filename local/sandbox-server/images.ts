/** Which root folder an image's name stands for. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @param imagesDir holds the root folders, each named like its image with `_` for `/`; `null`: there are none.
 * @returns the folder, or `null` when a name means the host itself.
 */
export function imageFolder(imagesDir: string | null, name: string): string | null {
  if (imagesDir === null) return null;
  // `/` is no part of a folder's name; and nothing may lead out of the folder of images.
  const folder = join(imagesDir, name.replaceAll('/', '_'));
  return !/^\.*$/.test(name) && existsSync(join(folder, 'usr')) ? folder : null;
}
