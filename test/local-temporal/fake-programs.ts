/** A machine of our own making: a PATH with nothing on it but shell scripts, and no network for the SDK. */

import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Machine {
  readonly folder: string;
  readonly cacheDir: string;
  readonly env: Record<string, string>;
  /** Puts a script on PATH; only what the shell has built in works without a path. */
  program(name: string, script: string): Promise<string>;
  /** How often scripts have said `echo … >> "$CALLS"`. */
  calls(): Promise<number>;
  remove(): Promise<void>;
}

export const SAYS_VERSION = 'echo "temporal version 9.9.9"';

/** A `go` that "builds" a temporal command, as soon as the gate file is there. */
export const GO = `
echo go >> "$CALLS"
while [ ! -e "$GATE" ]; do /bin/sleep 0.05; done
echo '#!/bin/sh' > "$GOBIN/temporal"
echo '${SAYS_VERSION}' >> "$GOBIN/temporal"
`;

export async function makeMachine(): Promise<Machine> {
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-machine-'));
  const bin = join(folder, 'bin');
  const calls = join(folder, 'calls');
  await mkdir(bin);
  // Port 1 refuses: the SDK's download fails at once, also on a machine that has a network.
  const noNetwork = { HTTPS_PROXY: 'http://127.0.0.1:1', HTTP_PROXY: 'http://127.0.0.1:1' };
  return {
    folder,
    cacheDir: join(folder, 'cache'),
    env: { ...noNetwork, PATH: bin, CALLS: calls, GATE: join(folder, 'gate') },
    program: (name, script) => writeProgram(join(bin, name), script),
    calls: async () => (await readFile(calls, 'utf8').catch(() => '')).split('\n').length - 1,
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

export async function writeProgram(path: string, script: string): Promise<string> {
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}
