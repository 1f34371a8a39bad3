/** A store in memory, by the rules of the real one. */

import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Store } from '../../store/types.js';

export function memoryStore(): Store & { readonly objects: Map<string, Buffer> } {
  const objects = new Map<string, Buffer>();
  return {
    objects,
    description: 'memory',
    async put(key, body) {
      const parts: Uint8Array[] = [];
      if (typeof body === 'string' || body instanceof Uint8Array) parts.push(Buffer.from(body));
      else for await (const part of body) parts.push(part);
      const bytes = Buffer.concat(parts);
      objects.set(key, bytes);
      return { key, sizeBytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
    },
    async get(key) {
      const bytes = objects.get(key);
      return bytes === undefined ? null : { key, sizeBytes: bytes.length, body: Readable.from([bytes]) };
    },
    async head(key) {
      const bytes = objects.get(key);
      return bytes === undefined ? null : { key, sizeBytes: bytes.length };
    },
    async *list(prefix, startAfter = '') {
      for (const key of [...objects.keys()].sort()) {
        const sizeBytes = objects.get(key)?.length;
        if (sizeBytes !== undefined && key.startsWith(prefix) && key > startAfter) yield { key, sizeBytes };
      }
    },
    async delete(key) {
      objects.delete(key);
    },
    async close() {},
  };
}
