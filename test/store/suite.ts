/** What every store must do, whatever it is made of. */

import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { expect, it, onTestFinished } from 'vitest';
import type { Store, StoredObject } from '../../store/types.js';

const MIB = 2 ** 20;

/** @param open a store; each call opens the same one. */
export function itIsAStore(open: () => Promise<Store>): void {
  /** Tests share the store, so each of them has a place of its own. */
  async function openPlace(): Promise<{ store: Store; place: string }> {
    const store = await open();
    onTestFinished(() => store.close());
    return { store, place: `tests/${randomUUID()}` };
  }

  it('gives back what was put, with its size and digest', async () => {
    const { store, place } = await openPlace();
    const key = `${place}/report.json`;
    const put = await store.put(key, '{"ü":1}');
    expect(put).toEqual({ key, sizeBytes: 8, sha256: sha256('{"ü":1}') });
    expect(await textAt(store, key)).toBe('{"ü":1}');
    expect(await store.head(key)).toEqual({ key, sizeBytes: 8 });
  });

  it('takes text, bytes, generators, and nothing at all', async () => {
    const { store, place } = await openPlace();
    const bodies = {
      text: 'one two',
      bytes: Buffer.from('one two'),
      generator: (async function* () {
        yield Buffer.from('one ');
        yield new Uint8Array();
        yield Buffer.from('two');
      })(),
    };
    for (const [name, body] of Object.entries(bodies)) {
      const { sizeBytes } = await store.put(`${place}/${name}`, body);
      expect(sizeBytes).toBe(7);
      expect(await textAt(store, `${place}/${name}`)).toBe('one two');
    }
    const empty = await store.put(`${place}/empty`, (async function* () {})());
    expect(empty).toMatchObject({ sizeBytes: 0, sha256: sha256('') });
    expect(await textAt(store, `${place}/empty`)).toBe('');
  });

  it('takes the body of an HTTP answer as it comes', async () => {
    const { store, place } = await openPlace();
    const url = await listen(createServer((_, response) => response.end('x'.repeat(100_000))));
    const { body } = await request(url);
    expect(await store.put(`${place}/answer`, body)).toMatchObject({ sizeBytes: 100_000 });
  });

  it('replaces what was there', async () => {
    const { store, place } = await openPlace();
    await store.put(`${place}/a`, 'a long text');
    await store.put(`${place}/a`, 'short');
    expect(await textAt(store, `${place}/a`)).toBe('short');
  });

  it('has null for what is not there', async () => {
    const { store, place } = await openPlace();
    await store.put(`${place}/a/b`, 'x');
    for (const key of [`${place}/none`, `${place}/a`, `${place}/none/below`]) {
      expect(await store.get(key)).toBeNull();
      expect(await store.head(key)).toBeNull();
      expect(await store.get(key, { start: 5, end: 5 })).toBeNull();
    }
  });

  it('gives parts of an object, with the size of the whole', async () => {
    const { store, place } = await openPlace();
    const key = `${place}/digits`;
    await store.put(key, '0123456789');
    const ranges = [
      [{ start: 0, end: 1 }, '0'],
      [{ start: 2, end: 5 }, '234'],
      [{ start: 7 }, '789'],
      [{ start: 8, end: 1000 }, '89'],
      [{ start: 3, end: 3 }, ''],
      [{ start: 10 }, ''],
      [{ start: 50, end: 60 }, ''],
    ] as const;
    for (const [range, text] of ranges) {
      const found = await store.get(key, range);
      expect(found).toMatchObject({ key, sizeBytes: 10 });
      expect(await textOf(found)).toBe(text);
    }
    await expect(store.get(key, { start: -1 })).rejects.toThrow('No bytes are at -1');
  });

  it('deletes, also what is gone already', async () => {
    const { store, place } = await openPlace();
    await store.put(`${place}/a`, 'x');
    await store.delete(`${place}/a`);
    await store.delete(`${place}/a`);
    expect(await store.head(`${place}/a`)).toBeNull();
  });

  it('lists in the order of the bytes, whatever is a folder', async () => {
    const { store, place } = await openPlace();
    const names = [
      'B',
      'a',
      'a-b',
      'a.b',
      'ab/c',
      'ab/d/e',
      'ab0',
      'b/a',
      '_',
      '@',
      '=2E',
      '0010',
      '9',
      '+1',
    ];
    for (const name of names) await store.put(`${place}/${name}`, name);
    const sorted = names.map((name) => `${place}/${name}`).sort();
    expect(await keysOf(store.list(`${place}/`))).toEqual(sorted);
    const [first] = await arrayOf(store.list(`${place}/ab`));
    expect(first).toEqual({ key: `${place}/ab/c`, sizeBytes: 4 });
  });

  it('lists by any beginning of a key, not only by folders', async () => {
    const { store, place } = await openPlace();
    for (const name of ['a/1', 'ab/1', 'ab/2', 'abc', 'b']) await store.put(`${place}/${name}`, '');
    const listed = async (prefix: string) =>
      (await keysOf(store.list(`${place}/${prefix}`))).map((key) => key.slice(place.length + 1));
    expect(await listed('ab')).toEqual(['ab/1', 'ab/2', 'abc']);
    expect(await listed('ab/')).toEqual(['ab/1', 'ab/2']);
    expect(await listed('abc')).toEqual(['abc']);
    expect(await listed('abc/')).toEqual([]);
    expect(await listed('x/y')).toEqual([]);
  });

  it('goes on with a list after any key, there or not', async () => {
    const { store, place } = await openPlace();
    const names = ['a', 'a.b', 'a0/x', 'a0/y', 'b/1', 'b/2', 'c'];
    for (const name of names) await store.put(`${place}/${name}`, '');
    const after = async (name: string) =>
      (await keysOf(store.list(`${place}/`, `${place}/${name}`))).map((key) => key.slice(place.length + 1));
    for (const [index, name] of names.entries()) expect(await after(name)).toEqual(names.slice(index + 1));
    expect(await after('a.')).toEqual(names.slice(1));
    expect(await after('b')).toEqual(['b/1', 'b/2', 'c']);
    expect(await after('b/~')).toEqual(['c']);
    expect(await after('z')).toEqual([]);
  });

  it('lets what is listed be deleted meanwhile', async () => {
    const { store, place } = await openPlace();
    for (const name of ['a', 'b/1', 'b/2', 'c']) await store.put(`${place}/${name}`, '');
    for await (const { key } of store.list(`${place}/`)) await store.delete(key);
    expect(await keysOf(store.list(place))).toEqual([]);
  });

  it('refuses keys that lead elsewhere, in every call', async () => {
    const { store } = await openPlace();
    const bad = [
      '../x',
      'a/../../x',
      '/etc/passwd',
      '',
      'a//b',
      'a/',
      './a',
      'a/.',
      'a b',
      'a\\b',
      'a\0b',
      'ä',
      '~parts/x',
    ];
    for (const key of [...bad, 'x'.repeat(256), `${'y'.repeat(200)}/`.repeat(5)]) {
      await expect(store.put(key, 'x')).rejects.toThrow(TypeError);
      await expect(store.get(key)).rejects.toThrow(TypeError);
      await expect(store.head(key)).rejects.toThrow(TypeError);
      await expect(store.delete(key)).rejects.toThrow(TypeError);
    }
    for (const prefix of ['../', 'a/../../', '/etc/', 'a//', '~parts/', 'ä'])
      await expect(keysOf(store.list(prefix))).rejects.toThrow(TypeError);
  });

  it('shows nothing of an object before it is whole', async () => {
    const { store, place } = await openPlace();
    async function* looking() {
      for (let part = 0; part < 3; part += 1) {
        yield Buffer.alloc(10 * MIB);
        expect(await store.get(`${place}/a`)).toBeNull();
        expect(await keysOf(store.list(place))).toEqual([]);
      }
    }
    await store.put(`${place}/a`, looking());
    expect(await keysOf(store.list(place))).toEqual([`${place}/a`]);
  });

  it('keeps the old object, and no half one, when the body breaks off', async () => {
    const { store, place } = await openPlace();
    await store.put(`${place}/a`, 'old');
    const broken = new Error('the sandbox hung up');
    for (const sizeBytes of [10, 20 * MIB]) {
      async function* breaking() {
        yield Buffer.alloc(sizeBytes);
        throw broken;
      }
      await expect(store.put(`${place}/a`, breaking())).rejects.toBe(broken);
      await expect(store.put(`${place}/b`, breaking())).rejects.toBe(broken);
    }
    expect(await textAt(store, `${place}/a`)).toBe('old');
    expect(await keysOf(store.list(`${place}/`))).toEqual([`${place}/a`]);
  });

  it('ends a put at once when it is aborted, although the body hangs', async () => {
    const { store, place } = await openPlace();
    for (const sizeBytes of [10, 20 * MIB]) {
      const reason = new Error('not wanted any more');
      const abort = new AbortController();
      async function* hanging() {
        yield Buffer.alloc(sizeBytes);
        setTimeout(() => abort.abort(reason), 20);
        await new Promise(() => {});
      }
      await expect(store.put(`${place}/a`, hanging(), abort.signal)).rejects.toBe(reason);
      await expect(store.put(`${place}/a`, 'x', abort.signal)).rejects.toBe(reason);
      const unread = Readable.from([Buffer.from('x')]);
      await expect(store.put(`${place}/a`, unread, abort.signal)).rejects.toBe(reason);
      expect(unread.destroyed).toBe(true);
    }
    expect(await keysOf(store.list(`${place}/`))).toEqual([]);
  });

  it('lets go of the HTTP answer it was reading when it is aborted', async () => {
    const { store, place } = await openPlace();
    const server = createServer((_, response) => response.write('the beginning'));
    const hungUp = new Promise((resolve) => {
      server.on('request', (_, response) => response.on('close', resolve));
    });
    const url = await listen(server);
    const { body } = await request(url);
    const abort = new AbortController();
    const putting = store.put(`${place}/a`, body, abort.signal);
    await sleep(20);
    abort.abort();
    await expect(putting).rejects.toThrow('aborted');
    await hungUp;
  });

  it('shows a reader the old object or the new one, never a mixture', async () => {
    const { store, place } = await openPlace();
    const key = `${place}/a`;
    const texts = ['x', 'y', 'z'].map((letter) => letter.repeat(200_000));
    await store.put(key, texts[0] ?? '');
    let isOver = false;
    const writing = (async () => {
      for (let round = 0; round < 15; round += 1) await store.put(key, texts[round % 3] ?? '');
      isOver = true;
    })();
    while (!isOver) expect(texts).toContain(await textAt(store, key));
    await writing;
  });

  it('survives that many put the same key at once', async () => {
    const { store, place } = await openPlace();
    const bodies = Array.from({ length: 10 }, (_, index) => String(index).repeat(1000));
    await Promise.all(bodies.map((body) => store.put(`${place}/deep/er/key`, body)));
    expect(bodies).toContain(await textAt(store, `${place}/deep/er/key`));
    expect(await keysOf(store.list(`${place}/`))).toEqual([`${place}/deep/er/key`]);
  });

  it('moves 300 MB in and out within little memory', { timeout: 180_000 }, async () => {
    const { store, place } = await openPlace();
    const before = process.memoryUsage().arrayBuffers;
    let peakBytes = 0;
    const look = () => {
      peakBytes = Math.max(peakBytes, process.memoryUsage().arrayBuffers - before);
    };
    async function* large() {
      for (let number = 0; number < 300; number += 1) {
        look();
        yield Buffer.alloc(MIB, number);
      }
    }
    const key = `${place}/large`;
    const put = await store.put(key, large());
    expect(put.sizeBytes).toBe(300 * MIB);
    const hash = createHash('sha256');
    for await (const chunk of (await store.get(key))?.body ?? []) {
      look();
      hash.update(chunk);
    }
    expect(hash.digest('hex')).toBe(put.sha256);
    expect(peakBytes / MIB).toBeLessThan(120);
    expect(await textOf(await store.get(key, { start: 299 * MIB - 1, end: 299 * MIB + 1 }))).toBe(
      Buffer.from([298 % 256, 299 % 256]).toString(),
    );
    await store.delete(key);
  });

  it('says where it is, but not how it gets in', async () => {
    const { store } = await openPlace();
    expect(store.description).not.toContain('CANARY');
  });
}

export async function keysOf(objects: AsyncIterable<StoredObject>): Promise<string[]> {
  return (await arrayOf(objects)).map(({ key }) => key);
}

async function arrayOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function textAt(store: Store, key: string): Promise<string | null> {
  return textOf(await store.get(key));
}

async function textOf(found: { readonly body: AsyncIterable<Uint8Array> } | null): Promise<string | null> {
  return found === null ? null : Buffer.concat(await arrayOf(found.body)).toString();
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
