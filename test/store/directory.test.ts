import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JobEvent } from '../../contract/timeline.js';
import { appendEvents, jobPrefix, keySegment, openStore, readEvents, type Store } from '../../store/index.js';

let folder: string;
let store: Store;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'longhaul-store-'));
  store = await openStore(folder, {});
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

async function read(key: string, range?: { start: number; end?: number }): Promise<string | null> {
  const found = await store.get(key, range);
  if (found === null) return null;
  const chunks: Uint8Array[] = [];
  for await (const chunk of found.body) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks).toString();
}

async function keys(prefix: string, startAfter?: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of store.list(prefix, startAfter)) found.push(key);
  return found;
}

describe('a store in a folder', () => {
  it('gives back what was put, whole or a part of it, and its digest', async () => {
    const put = await store.put('a/b.txt', 'hello world');
    expect(put).toEqual({
      key: 'a/b.txt',
      sizeBytes: 11,
      sha256: createHash('sha256').update('hello world').digest('hex'),
    });
    expect(await read('a/b.txt')).toBe('hello world');
    expect(await read('a/b.txt', { start: 6 })).toBe('world');
    expect(await read('a/b.txt', { start: 0, end: 5 })).toBe('hello');
    expect(await read('a/b.txt', { start: 99 })).toBe('');
    expect(await store.head('a/b.txt')).toEqual({ key: 'a/b.txt', sizeBytes: 11 });
  });

  it('has nothing under a key that was never put, or was deleted', async () => {
    await store.put('x', 'x');
    await store.delete('x');
    await store.delete('x');
    expect([await read('x'), await store.head('x'), await read('y/z')]).toEqual([null, null, null]);
  });

  it('never shows half of an object, and leaves none behind', async () => {
    await store.put('x', 'the old one');
    async function* broken() {
      yield Buffer.from('the new');
      throw new Error('cut off');
    }
    await expect(store.put('x', broken())).rejects.toThrow('cut off');
    expect(await read('x')).toBe('the old one');
    expect(readdirSync(join(folder, '~parts'))).toEqual([]);
  });

  it('streams what is larger than memory should hold', async () => {
    const chunk = Buffer.alloc(1024 * 1024, 7);
    async function* many() {
      for (let count = 0; count < 200; count += 1) yield chunk;
    }
    const before = process.memoryUsage().arrayBuffers;
    expect((await store.put('big', many())).sizeBytes).toBe(200 * chunk.length);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1024 * 1024);
  });

  it('lists by prefix in the order of the keys, also after a given one', async () => {
    for (const key of ['a/2', 'a/10', 'a.x', 'a/b/c', 'ab', 'b']) await store.put(key, '');
    expect(await keys('')).toEqual(['a.x', 'a/10', 'a/2', 'a/b/c', 'ab', 'b']);
    expect(await keys('a/')).toEqual(['a/10', 'a/2', 'a/b/c']);
    expect(await keys('a/1')).toEqual(['a/10']);
    expect(await keys('a/', 'a/10')).toEqual(['a/2', 'a/b/c']);
    expect(await keys('none/')).toEqual([]);
  });

  it.each(['', '/etc/passwd', '../x', 'a/../b', 'a//b', 'a/', 'a b', '~parts/x', 'a/.'])(
    'refuses the key %j',
    async (key) => {
      await expect(store.put(key, '')).rejects.toThrow('is not a key');
    },
  );

  it('is refused where its location names none', async () => {
    await expect(openStore('relative/folder', {})).rejects.toThrow('absolute path');
  });
});

describe('a segment of a key', () => {
  it.each([
    ['job-7', 'job-7'],
    ['team/a', 'team=2Fa'],
    ['..', '=2E=2E'],
    ['', '=00'],
    ['a=b', 'a=3Db'],
  ])('for %j is %s', (text, segment) => {
    expect(keySegment(text)).toBe(segment);
  });

  it('is another one for each text, and always one that a store takes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
        expect(keySegment(a)).toMatch(/^[A-Za-z0-9._=@+-]+$/);
        if (Buffer.from(a).equals(Buffer.from(b))) return;
        expect(keySegment(a)).not.toBe(keySegment(b));
      }),
    );
  });
});

describe('the event log', () => {
  const job = { jobId: 'team/a', runChainId: 'run' };
  const event = (seq: number): JobEvent => ({
    seq,
    event: 'paused',
    at: '',
    phase: 'paused',
    cause: `${seq}`,
    checkpoint: null,
    answerWith: null,
  });

  it('is in order and has each event once, however often they were added', async () => {
    await appendEvents(store, job, [event(1), event(2)]);
    await appendEvents(store, job, [event(1), event(2), event(3)]);
    await appendEvents(store, job, [event(3)]);
    await appendEvents(store, job, [event(4), event(5), event(6)]);
    await appendEvents(store, job, []);
    const read: number[] = [];
    for await (const { seq } of readEvents(store, job)) read.push(seq);
    expect(read).toEqual([1, 2, 3, 4, 5, 6]);
    expect(jobPrefix(job)).toBe('jobs/team=2Fa/run/');
  });
});
