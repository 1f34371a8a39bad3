/** The sources as plain JavaScript, for tests that need them in a process of their own. */

import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const ROOT = resolve(import.meta.dirname, '../..');

export interface Compiled {
  /** For `import` in a script: the entry point of `local/temporal`. */
  readonly entry: string;
  remove(): Promise<void>;
}

export async function compileLocalTemporal(): Promise<Compiled> {
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-compiled-'));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const config = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      declaration: false,
      rootDir: ROOT,
      outDir: folder,
      typeRoots: [join(ROOT, 'node_modules/@types')],
    },
    include: [],
    files: [join(ROOT, 'local/temporal/index.ts')],
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await promisify(execFile)(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder]);
  return {
    entry: join(folder, 'local/temporal/index.js'),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
