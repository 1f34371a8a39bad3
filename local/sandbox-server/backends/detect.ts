/** Which back end this machine allows: found by running a sandbox in each, never by version numbers. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { platform } from 'node:process';
import { prepareHome } from '../home.js';
import { identify, type ProcessIdentity, readText, waitUntil } from '../processes.js';
import { exitCodeOf, launch, logFile, stop } from '../runner.js';
import type { Backend, BackendName } from './backend.js';
import { bwrap } from './bwrap.js';
import { plain } from './plain.js';
import { unshare } from './unshare.js';

/** Host users of sandboxes are above all ranges that systemd, shadow and container engines give out. */
export const FIRST_UID = 1_900_000_000;

const PLAIN_NOTE =
  'NO ISOLATION: sandboxes are ordinary processes of this user and see the whole machine. Run only agents that you trust.';

export interface Detected {
  readonly backend: Backend;
  readonly notes: readonly string[];
}

/**
 * The best back end that works here, or the wanted one.
 * @throws Error when the wanted one does not work.
 */
export async function detectBackend(dataDir: string, wanted?: BackendName): Promise<Detected> {
  const reasons: string[] = [];
  if (wanted === 'plain') return { backend: plain, notes: [PLAIN_NOTE] };
  for (const backend of [bwrap, unshare]) {
    if (wanted !== undefined && wanted !== backend.name) continue;
    const reason = platform === 'linux' ? await tryOut(backend, dataDir) : 'needs Linux namespaces';
    if (reason === null) return { backend, notes: [] };
    reasons.push(`${backend.name}: ${reason}`);
  }
  if (wanted !== undefined)
    throw new Error(`The back end "${wanted}" does not work here. ${reasons.join('; ')}`);
  return { backend: plain, notes: [PLAIN_NOTE, ...reasons, ...apparmorRemedy()] };
}

/** `null` when a sandbox ran; else why not. */
async function tryOut(backend: Backend, dataDir: string): Promise<string | null> {
  if (spawnSync(backend.name, ['--version'], { stdio: 'ignore' }).error !== undefined) return 'not installed';
  const home = join(dataDir, `probe-${process.pid}`);
  const uid = process.getuid?.() === 0 ? FIRST_UID : null;
  const place = { id: '00000000-probe', home, uid, image: null, volume: null };
  mkdirSync(home, { recursive: true });
  let outer: ProcessIdentity | null = null;
  try {
    prepareHome(place);
    launch({
      place,
      backend,
      entrypoint: ['/bin/sh', '-c', 'echo ok > /workspace/probe'],
      env: {},
      cgroupFolders: [],
      ulimits: '',
      onSpawned: (identity) => {
        outer = identity;
      },
      onExit: () => undefined,
    });
    await waitUntil(() => outer === null || identify(outer.pid)?.startedAt !== outer.startedAt, 10_000);
    if (exitCodeOf(place) === 0 && existsSync(join(home, 'workspace/probe'))) return null;
    return readText(logFile(place)).trim().split('\n').slice(-2).join(' / ') || 'a sandbox did not start';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await stop(place, backend, { outer, init: null }, 0);
    rmSync(home, { recursive: true, force: true });
  }
}

function apparmorRemedy(): string[] {
  const restricted = readText('/proc/sys/kernel/apparmor_restrict_unprivileged_userns').trim() === '1';
  return restricted
    ? ['AppArmor forbids user namespaces here: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0']
    : [];
}
