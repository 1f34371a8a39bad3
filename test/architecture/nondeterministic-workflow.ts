/** What no workflow may do; boundaries.test.ts proves that it cannot be bundled. */

import { readFileSync } from 'node:fs';

export async function readsTheDisk(): Promise<string> {
  return readFileSync('/etc/hostname', 'utf8');
}
