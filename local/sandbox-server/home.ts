/** The folder of one sandbox: what is in it, and who owns what. */

import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Place } from './backends/backend.js';
import { hostnameOf, INNER_ID } from './backends/isolated-environment.js';
import { NODE_SHIM, PYTHON_SHIM } from './backends/plain.js';

/**
 * Makes what is missing; safe to repeat. Others may pass through the folder (as the sandbox's user must),
 * but list or read nothing in it. The data folder above it is closed to all but the server.
 */
export function prepareHome({ id, home, uid, volume }: Omit<Place, 'image'>): void {
  if (volume !== null) {
    mkdirSync(volume, { recursive: true });
    if (!existsSync(join(home, 'workspace'))) symlinkSync(volume, join(home, 'workspace'));
  }
  for (const name of ['.', 'workspace', 'root', 'image', 'volume', 'etc', 'shims', 'ports']) {
    mkdirSync(join(home, name), { recursive: true });
    // Explicitly: the server may have been started with a umask that shuts the sandbox's user out.
    chmodSync(join(home, name), name === '.' ? 0o711 : 0o755);
  }
  const files = {
    'etc/passwd': `root:x:0:0:root:/root:/bin/sh\nsandbox:x:${INNER_ID}:${INNER_ID}::/workspace:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n`,
    'etc/group': `root:x:0:\nsandbox:x:${INNER_ID}:\nnogroup:x:65534:\n`,
    'etc/hosts': `127.0.0.1 localhost ${hostnameOf(id)}\n::1 localhost\n`,
    'shims/shim.cjs': NODE_SHIM,
    'shims/sitecustomize.py': PYTHON_SHIM,
    // Where the Node.js binary is mounted, for those who cannot reach it where it is.
    node: '',
  };
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(home, name), text);
    chmodSync(join(home, name), 0o644);
  }
  if (uid === null) return;
  for (const name of volume === null ? ['workspace', 'root'] : ['root']) {
    chownSync(join(home, name), uid, uid);
  }
}

/** What an ephemeral sandbox loses by a pause. */
export function emptyWorkspace(place: Place): void {
  rmSync(join(place.home, 'workspace'), { recursive: true, force: true });
  prepareHome(place);
}

/** What is in the folder goes, and not the folder, which a running sandbox has mounted. */
export function clearWorkspace({ home }: Place): void {
  const workspace = join(home, 'workspace');
  for (const name of readdirSync(workspace)) rmSync(join(workspace, name), { recursive: true, force: true });
}

/** Ports that the shims of the plain back end wrote down belong to processes that are gone. */
export function forgetPorts({ home }: Place): void {
  rmSync(join(home, 'ports'), { recursive: true, force: true });
  mkdirSync(join(home, 'ports'));
}

/**
 * Writes the environment as shell assignments for the sandbox's user alone.
 * @returns the file.
 */
export function writeEnvironment({ home, uid }: Place, variables: Readonly<Record<string, string>>): string {
  const file = join(home, 'environment');
  const lines = Object.entries(variables).map(
    ([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'\n`,
  );
  rmSync(file, { force: true });
  writeFileSync(file, lines.join(''), { mode: 0o400 });
  if (uid !== null) chownSync(file, uid, uid);
  return file;
}
