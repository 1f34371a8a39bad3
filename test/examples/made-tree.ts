/** A small folder with one of everything that an image can hold. */

import { execFileSync } from 'node:child_process';
import { chmod, copyFile, link, mkdir, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Regular files that `makeTree` makes, beside the `plainFiles` asked for. */
export const SPECIAL_FILES = 14;
export const LINKS = 3;

/** @param plainFiles how many small text files to add. */
export async function makeTree(root: string, plainFiles: number): Promise<void> {
  const at = (name: string) => join(root, name);
  await mkdir(at('deep/er/est'), { recursive: true });
  await writeFile(at('env-script'), '#!/usr/bin/env -S python3 -u\nprint(1)\n');
  await writeFile(at('sh-script'), '#! /bin/sh -e\ntrue\n');
  await writeFile(at('rust-source'), '#![no_std]\n');
  await writeFile(at('empty'), '');
  await writeFile(at('deep/er/est/twin'), 'the same bytes\n');
  await writeFile(at('twin'), 'the same bytes\n');
  await writeFile(at('new\nline "quoted" ünï'), 'a name that needs care\n');
  await writeFile(at('truncated-elf'), Buffer.from('7f454c46020101', 'hex'));
  await writeFile(
    at('lying-elf'),
    Buffer.concat([Buffer.from('7f454c4602010100', 'hex'), Buffer.alloc(64, 0xff)]),
  );
  await copyFile('/bin/true', at('program'));
  await copyFile('/bin/true', at('setuid-program'));
  await chmod(at('setuid-program'), 0o4755);
  await copyFile('/bin/true', at('setgid-program'));
  await chmod(at('setgid-program'), 0o2755);
  await link(at('sh-script'), at('deep/hard-link'));
  // Larger than a whole group may be.
  await writeFile(at('deep/large'), 'x');
  await truncate(at('deep/large'), 20 * 2 ** 20 + 1);
  await symlink('program', at('link'));
  await symlink('deep', at('link-to-folder'));
  await symlink('nowhere', at('broken-link'));
  execFileSync('mkfifo', [at('pipe')]);
  for (let index = 0; index < plainFiles; index += 1) {
    await writeFile(at(`deep/plain-${index}`), `${'text '.repeat(index % 50)}${index}\n`);
  }
}
