/**
 * A store in a bucket of S3, or of a server that speaks its protocol. Loaded only where a location asks for it.
 * Uploads that a killed process left unfinished are invisible, but cost money until the bucket's lifecycle rule
 * (`AbortIncompleteMultipartUpload`) removes them.
 */

import { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
} from '@aws-sdk/client-s3';
import { checkRange, measure } from './content.js';
import { checkKey, checkPrefix, isKey } from './keys.js';
import { connectS3, type Environment } from './s3-client.js';
import { isAbsent, told } from './s3-errors.js';
import { parseLocation } from './s3-location.js';
import { upload } from './s3-upload.js';
import type { Store, StoredObject } from './types.js';

/** @throws StoreError for a location or an endpoint that cannot be one. */
export function openS3Store(location: string, env: Environment): Store {
  const { bucket: Bucket, prefix: root } = parseLocation(location);
  const { client, endpoint } = connectS3(env);
  const description = `s3://${Bucket}/${root}${endpoint === null ? '' : ` at ${endpoint}`}`;
  const at = (key: string) => {
    checkKey(key);
    return { Bucket, Key: `${root}${key}` };
  };

  const store: Store = {
    description,

    async put(key, body, signal) {
      const target = at(key);
      const stop = new AbortController();
      const ends = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
      const measured = measure(body, ends);
      try {
        signal?.throwIfAborted();
        await upload(client, target, measured.chunks, { signal: ends, end: (reason) => stop.abort(reason) });
      } catch {
        const { reason } = ends;
        if (signal?.aborted || measured.cameFromBody(reason)) throw reason;
        throw told(reason, description, `write ${key}`);
      } finally {
        measured.release();
      }
      return measured.contentOf(key);
    },

    async get(key, range) {
      const target = at(key);
      if (range !== undefined) checkRange(range);
      const { start = 0, end } = range ?? {};
      if (end !== undefined && end <= start) return nothingOf(key);
      try {
        const found = await client.send(
          new GetObjectCommand(
            range === undefined
              ? target
              : { ...target, Range: `bytes=${start}-${end === undefined ? '' : end - 1}` },
          ),
        );
        const total = /\/(\d+)$/.exec(found.ContentRange ?? '')?.[1] ?? found.ContentLength;
        return { key, sizeBytes: Number(total), body: found.Body as Readable };
      } catch (error) {
        if (isAbsent(error)) return null;
        // The range begins behind the end.
        if ((error as Error).name === 'InvalidRange') return nothingOf(key);
        throw told(error, description, `read ${key}`);
      }
    },

    async head(key) {
      const target = at(key);
      try {
        const { ContentLength } = await client.send(new HeadObjectCommand(target));
        return { key, sizeBytes: Number(ContentLength) };
      } catch (error) {
        if (isAbsent(error)) return null;
        throw told(error, description, `look for ${key}`);
      }
    },

    async *list(prefix, startAfter): AsyncGenerator<StoredObject> {
      checkPrefix(prefix);
      const wanted = {
        Bucket,
        Prefix: `${root}${prefix}`,
        StartAfter: startAfter === undefined ? undefined : `${root}${startAfter}`,
      };
      let ContinuationToken: string | undefined;
      do {
        const command = new ListObjectsV2Command({ ...wanted, ContinuationToken });
        const page = await client.send(command).catch((error) => {
          throw told(error, description, `list ${prefix || 'its objects'}`);
        });
        for (const { Key = '', Size = 0 } of page.Contents ?? []) {
          const key = Key.slice(root.length);
          // What else lies in the bucket was not put there by the store, e.g. `folder/`.
          if (isKey(key)) yield { key, sizeBytes: Size };
        }
        ContinuationToken = page.NextContinuationToken;
      } while (ContinuationToken !== undefined);
    },

    async delete(key) {
      const target = at(key);
      try {
        await client.send(new DeleteObjectCommand(target));
      } catch (error) {
        if (!isAbsent(error)) throw told(error, description, `delete ${key}`);
      }
    },

    async close() {
      client.destroy();
    },
  };
  return store;

  async function nothingOf(key: string): Promise<(StoredObject & { readonly body: Readable }) | null> {
    const found = await store.head(key);
    return found === null ? null : { ...found, body: Readable.from([]) };
  }
}
