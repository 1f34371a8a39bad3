/** Reads the outcomes of a batch from the store, in constant memory, while it runs and long after. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { ItemOutcome } from '../contract/batch.js';
import {
  type BatchHead,
  headKey,
  OutcomeReader,
  readDocument,
  SeenItems,
  statusKey,
} from '../contract/batch-files.js';
import type { Store } from '../store/types.js';

export interface ResultsOptions {
  /** Goes on until the batch has ended. @default false */
  readonly follow?: boolean;
  /** Also the outcomes of attempts that were made again. @default false */
  readonly allAttempts?: boolean;
  /** Ends the reading, without an error. */
  readonly signal?: AbortSignal;
}

const LOOK_AGAIN_MS = 1000;

/** `null` where the store knows no such batch. */
export function readHead(store: Store, batchId: string): Promise<BatchHead | null> {
  return readDocument<BatchHead>(store, headKey(batchId));
}

/** The latest outcome of each item that has one; the newest attempts come first. */
export async function* readResults(
  store: Store,
  { rounds }: BatchHead,
  { follow = false, allAttempts = false, signal }: ResultsOptions = {},
): AsyncGenerator<ItemOutcome, void, undefined> {
  const seen = new SeenItems();
  for (const [age, { folder }] of [...rounds].reverse().entries()) {
    const reader = new OutcomeReader(store, folder, allAttempts ? new SeenItems() : seen);
    const mayGrow = age === 0 && follow;
    for (;;) {
      if (signal?.aborted) return;
      // Asked before the last reading, which then misses nothing.
      const isOver = !mayGrow || (await store.head(statusKey(folder))) !== null;
      yield* reader.read();
      if (isOver) break;
      await sleep(LOOK_AGAIN_MS, undefined, signal === undefined ? {} : { signal }).catch(() => {});
    }
  }
}
