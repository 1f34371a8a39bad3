import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CannotBeMadeError, cachedBinary, type Maker } from '../../local/temporal/cached-binary.js';

let folder: string;
let said: string[];
const log = (line: string) => void said.push(line);
const check = async () => {};
const path = () => join(folder, 'entry/binary');
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longhaul-cache-'));
  said = [];
});
afterEach(async () => {
  vi.useRealTimers();
  await rm(folder, { recursive: true, force: true });
});

function maker(source: string, make: Maker<string>['make']): Maker<string> {
  return { source, name: source, announcement: `trying ${source}`, doing: `at ${source}`, make };
}

const writes = (content: string) => async (into: string) => {
  await writeFile(join(into, 'made'), content);
  return join(into, 'made');
};

const fails = (reason: string) => () => Promise.reject(new Error(reason));

describe('a binary that is made once', () => {
  it('is made by the first way that works, and then kept', async () => {
    const makers = [maker('first', fails('no network')), maker('second', writes('B'))];
    expect(await cachedBinary({ path: path(), makers, check, log })).toEqual({
      path: path(),
      source: 'second',
    });
    expect(said).toEqual(['trying first', '  That did not work: no network', 'trying second']);
    expect((await cachedBinary({ path: path(), makers: [], check, log })).source).toBe('cache');
    expect(await readdir(join(folder, 'entry'))).toEqual(['binary']);
  });

  it('is not kept when it does not run', async () => {
    const refuses = fails('wrong architecture');
    const error = await cachedBinary({
      path: path(),
      makers: [maker('download', writes('B'))],
      check: refuses,
      log,
    }).catch((reason) => reason);
    expect(error).toBeInstanceOf(CannotBeMadeError);
    expect(error.reasons).toEqual([`cache: ${path()} is not there`, 'download: wrong architecture']);
    expect(await readdir(join(folder, 'entry'))).toEqual([]);
  });

  it('is made once when many want it at the same time', async () => {
    let made = 0;
    const slow = maker('slow', async (into) => {
      made += 1;
      await vi.waitFor(() => expect(said).toContainEqual(expect.stringContaining('waiting for that one')));
      return writes('once')(into);
    });
    const all = Array.from({ length: 5 }, () => cachedBinary({ path: path(), makers: [slow], check, log }));
    const sources = (await Promise.all(all)).map(({ source }) => source).sort();
    expect(sources).toEqual(['cache', 'cache', 'cache', 'cache', 'slow']);
    expect(made).toBe(1);
    expect(await readFile(path(), 'utf8')).toBe('once');
  });

  it('says every 15 seconds how long it has been at it', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] });
    const slow = maker('slow', async (into) => {
      // The interval begins when this has returned a promise.
      await Promise.resolve();
      vi.advanceTimersByTime(31_000);
      return writes('B')(into);
    });
    await cachedBinary({ path: path(), makers: [slow], check, log });
    expect(said).toEqual(['trying slow', '  … still at slow (15 s)', '  … still at slow (30 s)']);
  });

  it('is made in spite of what a killed process has left', async () => {
    await mkdir(join(folder, 'entry/.making-old'), { recursive: true });
    await mkdir(join(folder, 'entry/.lock'));
    await cachedBinary({ path: path(), makers: [maker('way', writes('B'))], check, log });
    expect(await readdir(join(folder, 'entry'))).toEqual(['binary']);
  });

  it('is made when the owner of the lock lives but has not been heard of for a minute', async () => {
    const owner = await lockHeldBy({ host: hostname(), pid: process.pid });
    const longAgo = new Date(Date.now() - 61_000);
    await utimes(owner, longAgo, longAgo);
    const makers = [maker('way', writes('B'))];
    expect((await cachedBinary({ path: path(), makers, check, log })).source).toBe('way');
    expect(said).toEqual(['trying way']);
  });

  it('does not judge an owner on another machine by its process ID', async () => {
    const owner = await lockHeldBy({ host: `not-${hostname()}`, pid: 2 ** 30 });
    const made = cachedBinary({ path: path(), makers: [maker('way', writes('B'))], check, log });
    await vi.waitFor(() => expect(said).toContainEqual(expect.stringContaining('waiting for that one')));
    await rm(owner);
    expect((await made).source).toBe('way');
  });
});

async function lockHeldBy(owner: { host: string; pid: number }): Promise<string> {
  const file = join(folder, 'entry/.lock/owner');
  await mkdir(join(file, '..'), { recursive: true });
  await writeFile(file, JSON.stringify(owner));
  return file;
}
