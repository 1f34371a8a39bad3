import { randomUUID } from 'node:crypto';
import { ListMultipartUploadsCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  appendEvents,
  listRunChains,
  openStore,
  readEvents,
  type Store,
  StoreError,
} from '../../store/index.js';
import { findS3Server, type S3Server, startS3Server } from '../support/s3-server.js';
import { itIsAStore, keysOf } from './suite.js';

const binary = await findS3Server();
const MIB = 2 ** 20;

afterEach(() => void vi.unstubAllEnvs());

describe.skipIf(binary === null)('a store in a bucket', () => {
  let server: S3Server;
  let raw: S3Client;

  beforeAll(async () => {
    server = await startS3Server(binary as string);
    raw = clientOf(server);
  });
  afterAll(async () => {
    raw?.destroy();
    await server?.stop();
  });

  const open = (prefix = 'some/prefix', env = server.env): Promise<Store> =>
    openStore(`s3://${server.bucket}/${prefix}`, env);

  itIsAStore(() => open());

  it('keeps to its prefix, with or without a slash at the end', async () => {
    const store = await open('place/a/');
    const neighbour = await open('place/ab');
    await neighbour.put('x', 'theirs');
    await store.put('x', 'ours');
    expect(await keysOf(store.list(''))).toEqual(['x']);
    const whole = await openStore(`s3://${server.bucket}`, server.env);
    expect(await keysOf(whole.list('place/a'))).toEqual(['place/a/x', 'place/ab/x']);
    expect(store.description).toBe(`s3://${server.bucket}/place/a/ at ${server.url}`);
  });

  it('lists more than a page', { timeout: 120_000 }, async () => {
    const store = await open(randomUUID());
    const keys = Array.from({ length: 1100 }, (_, index) => `page/${String(index).padStart(5, '0')}`);
    for (let from = 0; from < keys.length; from += 50)
      await Promise.all(keys.slice(from, from + 50).map((key) => store.put(key, key)));
    expect(await keysOf(store.list('page/'))).toEqual(keys);
    expect(await keysOf(store.list('', 'page/00042'))).toEqual(keys.slice(43));
    await store.close();
  });

  it('leaves no unfinished upload behind when the body breaks off or nobody wants it', async () => {
    const store = await open();
    const abort = new AbortController();
    async function* breaking() {
      yield Buffer.alloc(30 * MIB);
      throw new Error('broken');
    }
    async function* endless() {
      for (let number = 0; ; number += 1) {
        yield Buffer.alloc(MIB);
        if (number === 30) abort.abort();
      }
    }
    await expect(store.put('broken', breaking())).rejects.toThrow('broken');
    await expect(store.put('endless', endless(), abort.signal)).rejects.toThrow('aborted');
    const { Uploads = [] } = await raw.send(new ListMultipartUploadsCommand({ Bucket: server.bucket }));
    expect(Uploads).toEqual([]);
  });

  it('uploads parts without checksums where the SDK is told to send none', async () => {
    vi.stubEnv('AWS_REQUEST_CHECKSUM_CALCULATION', 'when_required');
    const store = await open('plain');
    const { sizeBytes } = await store.put('a', Buffer.alloc(20 * MIB, 'x'));
    expect(await store.head('a')).toEqual({ key: 'a', sizeBytes });
  });

  it('does not take the beginning of an object for the whole', async () => {
    const doomed = await startS3Server(binary as string);
    const store = await openStore(`s3://${doomed.bucket}/x`, doomed.env);
    await store.put('a', Buffer.alloc(50 * MIB));
    const found = await store.get('a');
    const reading = (async () => {
      for await (const chunk of found?.body ?? []) if (chunk.length > 0) await doomed.stop();
    })();
    await expect(reading).rejects.toThrow();
  });

  it('keeps an event log', async () => {
    const store = await open('journal');
    const job = { jobId: 'a/b', runChainId: 'run-1' };
    const event = {
      event: 'running',
      at: '',
      phase: 'running',
      cause: '',
      checkpoint: null,
      answerWith: null,
    } as const;
    for (let seq = 1; seq <= 40; seq += 1) await appendEvents(store, job, [{ ...event, seq }]);
    await appendEvents(store, job, [{ ...event, seq: 40 }]);
    const seqs: number[] = [];
    for await (const { seq } of readEvents(store, job)) seqs.push(seq);
    expect(seqs).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
    expect(await listRunChains(store, 'a/b')).toEqual(['run-1']);
  });

  it('overlooks objects whose names cannot be keys', async () => {
    const store = await open('strangers');
    await store.put('a', 'x');
    const stranger = { Bucket: server.bucket, Key: 'strangers/a file of mine', Body: 'x' };
    await raw.send(new PutObjectCommand(stranger));
    expect(await keysOf(store.list(''))).toEqual(['a']);
  });

  it('tells apart a missing object, a missing bucket and a wrong key, and names the remedy', async () => {
    const missing = await openStore('s3://no-such-bucket/x', server.env);
    await expect(missing.put('a', 'x')).rejects.toThrow(
      /The store s3:\/\/no-such-bucket\/x\/ at http.* could not write a: .*NoSuchBucket.*create the bucket/,
    );
    await expect(missing.get('a')).rejects.toBeInstanceOf(StoreError);
    await expect(keysOf(missing.list(''))).rejects.toThrow(/NoSuchBucket/);
    const wrong = await open('x', { ...server.env, AWS_SECRET_ACCESS_KEY: 'CANARY-wrong' });
    const refused = await wrong.put('a', Buffer.alloc(20 * MIB)).catch((error: unknown) => error);
    expect(String(refused)).toMatch(/SignatureDoesNotMatch.*check AWS_ACCESS_KEY_ID/);
    expect(`${JSON.stringify(refused)}${(refused as Error).stack}`).not.toContain('CANARY');
  });

  it('says that the server is away, and ends an upload to it', { timeout: 120_000 }, async () => {
    const doomed = await startS3Server(binary as string);
    const store = await openStore(`s3://${doomed.bucket}/x`, doomed.env);
    async function* long() {
      for (let number = 0; number < 200; number += 1) {
        if (number === 20) await doomed.stop();
        yield Buffer.alloc(MIB);
      }
    }
    await expect(store.put('a', long())).rejects.toThrow(/could not write a: .*(ECONNREFUSED|ECONNRESET)/);
    await expect(store.get('a')).rejects.toThrow(/ECONNREFUSED.*check the network/);
    await store.close();
  });
});

it('says that a region is missing where AWS itself is meant', async () => {
  for (const name of ['AWS_REGION', 'AWS_PROFILE', 'AWS_ENDPOINT_URL', 'AWS_ENDPOINT_URL_S3'])
    vi.stubEnv(name, undefined);
  vi.stubEnv('AWS_CONFIG_FILE', '/nowhere');
  const store = await openStore('s3://bucket/x', { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' });
  await expect(store.put('a', 'x')).rejects.toThrow(/could not write a: .*set AWS_REGION/);
});

describe('the location of a store in a bucket', () => {
  it.each([
    ['s3://', '"" is no name of a bucket'],
    ['s3://Big_Bucket/x', '"Big_Bucket" is no name of a bucket'],
    ['s3://bucket/a b', '"a b" cannot be a prefix'],
    ['s3://bucket/../x', '"../x" cannot be a prefix'],
    ['s3://KEY:CANARY@bucket/x', 'takes no credentials in its location'],
  ])('%s is refused in words', async (location, words) => {
    const error = await openStore(location, {}).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StoreError);
    expect(String(error)).toContain(words);
    expect(String(error)).not.toContain('CANARY');
  });

  it.each(['no url', 'ftp://x', 'http://user:CANARY@host'])(
    'takes no endpoint such as %s',
    async (endpoint) => {
      const error = await openStore('s3://bucket/x', { AWS_ENDPOINT_URL: endpoint }).catch(
        (reason) => reason,
      );
      expect(String(error)).toContain('AWS_ENDPOINT_URL must be a URL');
      expect(String(error)).not.toContain('CANARY');
    },
  );
});

function clientOf({ url, env }: S3Server): S3Client {
  return new S3Client({
    endpoint: url,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: {
      accessKeyId: env.AWS_ACCESS_KEY_ID as string,
      secretAccessKey: env.AWS_SECRET_ACCESS_KEY as string,
    },
  });
}
