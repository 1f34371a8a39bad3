/** Where things are kept on this machine. The cache may be deleted at any time; the state may not. */

import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

// The client needs the rule for the state folder, too, and may not import from here.
export { stateFolder as stateDir } from '../contract/dev-session.js';

/** Absolute. `LONGHAUL_CACHE`, else `longhaul` in the cache folder of the XDG rules (`~/.cache`). */
export function cacheDir(env: Readonly<Record<string, string | undefined>>): string {
  const home = env.HOME || homedir();
  return resolve(env.LONGHAUL_CACHE || join(env.XDG_CACHE_HOME || join(home, '.cache'), 'longhaul'));
}
