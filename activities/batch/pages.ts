/** Reads items and templates from the store; the pages last used stay in memory. */

import type { BatchRound } from '../../contract/batch.js';
import {
  type BatchItem,
  ITEMS_PER_PAGE,
  jobIdOf,
  pageKey,
  readDocument,
  readLines,
  templateKey,
} from '../../contract/batch-files.js';
import type { Store } from '../../store/types.js';

/** A page of the largest items has 13 MB. */
const PAGES_KEPT = 8;

export class BatchPages {
  readonly #store: Store;
  readonly #kept = new Map<string, Promise<unknown>>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** @throws Error when the store does not have it: it was emptied, or this worker uses another one. */
  async item(round: BatchRound, position: number): Promise<BatchItem> {
    const page = Math.floor(position / ITEMS_PER_PAGE);
    const key = pageKey(folderOf(round), page);
    const items = await this.#keep(key, async () => {
      const lines: BatchItem[] = [];
      for await (const line of readLines<BatchItem>(this.#store, key)) lines.push(line);
      return lines;
    });
    return items[position % ITEMS_PER_PAGE] ?? missing(this.#store, key);
  }

  async template(round: BatchRound): Promise<unknown> {
    const key = templateKey(folderOf(round));
    const template = await this.#keep(key, () => readDocument<unknown>(this.#store, key));
    return template ?? missing(this.#store, key);
  }

  async jobId(round: BatchRound, position: number): Promise<string> {
    const { id } = await this.item(round, position);
    return jobIdOf(round.batchId, id, round.number);
  }

  async #keep<T>(key: string, read: () => Promise<T>): Promise<T> {
    const kept = (this.#kept.get(key) as Promise<T> | undefined) ?? read();
    // The last used one comes last, the first one goes first.
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= PAGES_KEPT) break;
      this.#kept.delete(oldest);
    }
    kept.catch(() => this.#kept.delete(key));
    return kept;
  }
}

export function folderOf(round: BatchRound): string {
  return round.folders.at(-1) as string;
}

function missing(store: Store, key: string): never {
  throw new Error(
    `${key} is not in the store (${store.description}); the worker and whoever submits must use the same store`,
  );
}
