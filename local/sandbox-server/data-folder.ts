/** The data folder as a whole: made, closed to others, and bound to one way of running sandboxes. */

import { chmodSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Backend } from './backends/backend.js';
import { readText } from './processes.js';
import { SANDBOX_ID } from './record.js';

const KIND = 'kind';

export function makeDataFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
}

/** What a server that was killed while it tried out back ends has left. To be called under the lock. */
export function removeProbes(folder: string): void {
  for (const name of readdirSync(folder).filter((each) => each.startsWith('probe-'))) {
    rmSync(join(folder, name), { recursive: true, force: true });
  }
}

/**
 * Sandboxes made without isolation, or by another user, own their files differently and are stopped
 * differently: going on with them in another way could leave processes behind, or run them as root.
 * @throws Error when the folder holds such sandboxes.
 */
export function bindToKind(folder: string, backend: Backend): void {
  const kind = `${backend.isolated ? 'isolated' : 'plain'}, by user ${process.getuid?.() ?? '-'}`;
  const earlier = readText(join(folder, KIND));
  const hasSandboxes = readdirSync(folder).some((name) => SANDBOX_ID.test(name));
  if (hasSandboxes && earlier !== kind) {
    throw new Error(
      `The sandboxes in ${folder} were run as "${earlier}", and this server would run them as "${kind}". Start it as before (--backend ${earlier.startsWith('plain') ? 'plain' : 'unshare'}), or use another data folder.`,
    );
  }
  writeFileSync(join(folder, KIND), kind);
}
