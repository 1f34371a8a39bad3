/** Where things that can be fetched again are kept. Data has its own folder; see contract/dev-session.ts. */

import { homedir } from 'node:os';
import { join } from 'node:path';

/** `LONGHAUL_CACHE`, else the cache folder of the XDG rules. */
export function cacheDir(env: Readonly<Record<string, string | undefined>>): string {
  return env.LONGHAUL_CACHE || join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'longhaul');
}
