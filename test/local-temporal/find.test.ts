import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CannotBeMadeError, cachedBinary, type Maker } from '../../local/temporal/cached-binary.js';
import { findTemporalCli, findTestServer } from '../../local/temporal/index.js';

let folder: string;
let said: string[];
const log = (line: string) => void said.push(line);
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longhaul-find-'));
  said = [];
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function program(name: string, script: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

function maker(name: string, make: Maker['make']): Maker {
  return { name, announcement: `trying ${name}`, make };
}

const writes = (content: string) => async (into: string) => {
  const path = join(into, 'made');
  await writeFile(path, content);
  return path;
};

describe('finding the temporal command', () => {
  it('prefers the one on PATH', async () => {
    await program('temporal', 'echo temporal version 1.9.9');
    const found = await findTemporalCli({
      cacheDir: join(folder, 'cache'),
      env: { PATH: `${folder}:/usr/bin:/bin` },
      log,
    });
    expect(found.source).toBe('PATH');
    expect(said).toEqual([]);
  });

  it('takes the kept one when that on PATH does not run', async () => {
    await program('temporal', 'exit 1');
    await mkdir(join(folder, 'cache'));
    await writeFile(join(folder, 'cache/temporal-cli-v1.5.1'), 'binary');
    const found = await findTemporalCli({ cacheDir: join(folder, 'cache'), env: { PATH: folder }, log });
    expect(found).toEqual({ path: join(folder, 'cache/temporal-cli-v1.5.1'), source: 'cache' });
  });

  it('finds the test server by its variable and on PATH', async () => {
    const path = await program('temporal-test-server', '');
    const cache = { cacheDir: join(folder, 'cache'), log };
    expect(await findTestServer({ ...cache, env: { TEMPORAL_TEST_SERVER: '/x' } })).toMatchObject({
      path: '/x',
    });
    expect(await findTestServer({ ...cache, env: { PATH: folder } })).toEqual({ path, source: 'PATH' });
  });
});

describe('a binary that is made once', () => {
  it('is made by the first way that works, and then kept', async () => {
    const path = join(folder, 'deep/binary');
    const fails = maker('first', () => Promise.reject(new Error('no network')));
    expect(await cachedBinary(path, [fails, maker('second', writes('B'))], log)).toEqual({
      path,
      by: 'second',
    });
    expect(said).toEqual(['trying first', 'trying second']);
    expect(await cachedBinary(path, [fails], log)).toEqual({ path, by: 'cache' });
    expect(await readdir(join(folder, 'deep'))).toEqual(['binary']);
  });

  it('tells what was tried when no way works', async () => {
    const ways = ['download', 'Go'].map((name) =>
      maker(name, () => Promise.reject(new Error(`${name} is not there`))),
    );
    const error = await cachedBinary(join(folder, 'x'), ways, log).catch((reason) => reason);
    expect(error).toBeInstanceOf(CannotBeMadeError);
    expect(error.reasons).toEqual(['download: download is not there', 'Go: Go is not there']);
  });

  it('is made once when many want it at the same time', async () => {
    let made = 0;
    const slow = maker('slow', async (into) => {
      made += 1;
      await new Promise((resolve) => setTimeout(resolve, 200));
      return writes('once')(into);
    });
    const all = await Promise.all(
      Array.from({ length: 5 }, () => cachedBinary(join(folder, 'x'), [slow], log)),
    );
    expect(made).toBe(1);
    expect(await readFile(all[4]?.path as string, 'utf8')).toBe('once');
  });

  it('takes over from a process that died over it', async () => {
    const dead = spawn('true');
    await once(dead, 'exit');
    await writeFile(join(folder, 'x.lock'), `${dead.pid}`);
    expect(await cachedBinary(join(folder, 'x'), [maker('way', writes('B'))], log)).toMatchObject({
      by: 'way',
    });
  });
});
