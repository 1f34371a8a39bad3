import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer, temporaryFolder } from './support.js';

let server: TestServer;
let imagesDir: string;
beforeAll(async () => {
  imagesDir = temporaryFolder();
  makeImage('team_tools:1');
  server = await startTestServer({ imagesDir });
});
afterAll(async () => {
  await server.end();
  rmSync(imagesDir, { recursive: true, force: true });
});

/** A root folder with a shell, `cat`, and what the unshare back end needs inside. */
function makeImage(folder: string): void {
  const root = join(imagesDir, folder);
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) {
    mkdirSync(join(root, 'usr', name), { recursive: true });
    symlinkSync(`usr/${name}`, join(root, name));
  }
  for (const name of ['sh', 'cat', 'unshare', 'setpriv', 'umount', 'rmdir']) {
    const program = join('/usr/bin', name);
    copy(root, program);
    const libraries = execFileSync('ldd', [program], { encoding: 'utf8' }).match(/\/lib\S+/g) ?? [];
    for (const library of libraries) copy(root, library);
  }
  writeFileSync(join(root, 'usr/who'), 'not the host\n');
}

function copy(root: string, path: string): void {
  const target = join(root, path.startsWith('/usr/') ? path : `/usr${path}`);
  mkdirSync(dirname(target), { recursive: true });
  cpSync(path, target, { dereference: true });
}

async function logsOf(image: string): Promise<string> {
  const entrypoint = ['/bin/sh', '-c', 'cat /usr/who; echo $?'];
  const id = await server.create({ image: { uri: image }, entrypoint });
  await server.untilState(id, 'Terminated');
  const answer = await server.call('GET', `/sandboxes/${id}/diagnostics/logs`);
  await server.call('DELETE', `/sandboxes/${id}`);
  return String(answer.text);
}

describe('an image', () => {
  test('is the root folder that is configured for its name', async () => {
    expect(await logsOf('team/tools:1')).toContain('not the host\n0');
  });

  test.each(['python:3.12-slim', '..', '../../etc'])(
    'of any other name, such as %s, is the host itself',
    async (name) => {
      expect(await logsOf(name)).toMatch(/No such file[\s\S]*1/);
    },
  );
});
