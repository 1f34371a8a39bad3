import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { openStore, StoreError } from '../../store/index.js';
import { itIsAStore, keysOf } from './suite.js';

const folder = await mkdtemp(join(tmpdir(), 'longhaul-store-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('a store in a folder', () => {
  itIsAStore(() => openStore(join(folder, 'shared'), {}));

  it('keeps objects as files that only their owner can read, under their keys', async () => {
    const root = join(folder, 'modes');
    const store = await openStore(pathToFileURL(root).href, {});
    await store.put('jobs/a/log.txt', 'hello');
    expect(await readFile(join(root, 'jobs/a/log.txt'), 'utf8')).toBe('hello');
    const modes = await Promise.all(
      ['', 'jobs', 'jobs/a', 'jobs/a/log.txt'].map(
        async (path) => (await stat(join(root, path))).mode & 0o777,
      ),
    );
    expect(modes).toEqual([0o700, 0o700, 0o700, 0o600]);
    expect(store.description).toBe(root);
  });

  it('leaves no parts of failed writes, and sweeps those of killed writers once they are old', async () => {
    const root = join(folder, 'sweep');
    const parts = join(root, '~parts');
    await mkdir(parts, { recursive: true });
    await writeFile(join(parts, 'old'), 'x');
    await writeFile(join(parts, 'young'), 'x');
    const twoDaysAgo = new Date(Date.now() - 48 * 3_600_000);
    await utimes(join(parts, 'old'), twoDaysAgo, twoDaysAgo);
    const store = await openStore(root, {});
    async function* breaking() {
      yield Buffer.from('x');
      throw new Error('broken');
    }
    await expect(store.put('a', breaking())).rejects.toThrow('broken');
    expect(await readdir(parts)).toEqual(['young']);
    expect(await keysOf(store.list(''))).toEqual([]);
  });

  it('writes again after its folder was removed', async () => {
    const root = join(folder, 'removed');
    const store = await openStore(root, {});
    await rm(root, { recursive: true });
    expect(await keysOf(store.list(''))).toEqual([]);
    await store.put('a/b', 'x');
    expect(await keysOf(store.list(''))).toEqual(['a/b']);
  });

  it('lets go of a body that it cannot even begin to write', async () => {
    const root = join(folder, 'unwritable');
    const store = await openStore(root, {});
    await rm(join(root, '~parts'), { recursive: true });
    await writeFile(join(root, '~parts'), '');
    const body = Readable.from([Buffer.from('x')]);
    await expect(store.put('a', body)).rejects.toThrow(/cannot write a: a part of its path is a file/);
    expect(body.destroyed).toBe(true);
  });

  it('overlooks files that it did not write', async () => {
    const root = join(folder, 'strangers');
    const store = await openStore(root, {});
    await store.put('a', 'x');
    await writeFile(join(root, 'a file of mine'), 'x');
    expect(await keysOf(store.list(''))).toEqual(['a']);
  });

  it('says which object is in the way of another one', async () => {
    const store = await openStore(join(folder, 'conflicts'), {});
    await store.put('a/b', 'x');
    await expect(store.put('a', 'x')).rejects.toThrow(/cannot write a: other objects have this key .*EISDIR/);
    await expect(store.put('a/b/c', 'x')).rejects.toThrow(/cannot write a\/b\/c: .*\((ENOTDIR|EEXIST)\)/);
    await expect(store.put('a/b/c', 'x')).rejects.toBeInstanceOf(StoreError);
  });

  it('refuses at once what is no location, or no folder that can be written', async () => {
    await expect(openStore('store', {})).rejects.toThrow('"store" names no store; write an absolute path');
    await expect(openStore('file://elsewhere/x', {})).rejects.toThrow('no folder of this machine');
    await expect(openStore('ftp://x/y', {})).rejects.toThrow('names no store');
    await writeFile(join(folder, 'file'), '');
    await expect(openStore(join(folder, 'file'), {})).rejects.toThrow(/cannot be opened: a part of its path/);
    await expect(openStore(join(folder, 'file'), {})).rejects.toBeInstanceOf(StoreError);
  });

  it.skipIf(process.getuid?.() === 0)('says that a folder belongs to somebody else', async () => {
    const root = join(folder, 'locked');
    await mkdir(join(root, '~parts'), { recursive: true });
    await chmod(join(root, '~parts'), 0o500);
    await expect(openStore(root, {})).rejects.toThrow(/permission denied.*EACCES/);
  });
});
