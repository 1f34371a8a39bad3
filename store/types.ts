/** Where bodies go that must not travel through a history: events, evidence, snapshots, artifacts, items and results. */

import type { Readable } from 'node:stream';

export interface StoredObject {
  readonly key: string;
  readonly sizeBytes: number;
}

export interface StoredContent extends StoredObject {
  /** Lower-case hexadecimal, over the bytes as stored. */
  readonly sha256: string;
}

/**
 * A flat space of objects. Keys are `/`-separated segments of `[A-Za-z0-9._=@+-]`, none of them `.` or `..`;
 * `keySegment` makes one of any text.
 */
export interface Store {
  /** For people: where it is, without credentials. */
  readonly description: string;
  /** Writes the object whole or not at all: a reader sees the old one or the new one, never half. Replaces. */
  put(
    key: string,
    body: string | Uint8Array | AsyncIterable<Uint8Array>,
    signal?: AbortSignal,
  ): Promise<StoredContent>;
  /** `null` where there is none. `range` in bytes, `end` exclusive. */
  get(
    key: string,
    range?: { readonly start: number; readonly end?: number },
  ): Promise<(StoredObject & { readonly body: Readable }) | null>;
  head(key: string): Promise<StoredObject | null>;
  /** In the order of the keys' bytes; `startAfter` leaves out all keys up to and including it. */
  list(prefix: string, startAfter?: string): AsyncIterable<StoredObject>;
  /** One that is gone already counts as deleted. */
  delete(key: string): Promise<void>;
  close(): Promise<void>;
}
