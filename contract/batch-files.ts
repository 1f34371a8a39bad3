/**
 * What of a batch is in the store, and how it is read again:
 *
 *     batches/<batch>/batch.json                          its rounds
 *     batches/<batch>/rounds/<upload>/template.json       the job template, files included
 *     batches/<batch>/rounds/<upload>/items/000000.jsonl  a page of items
 *     batches/<batch>/rounds/<upload>/outcomes/….jsonl    outcomes as they come; some may be there twice
 *     batches/<batch>/rounds/<upload>/results.jsonl       at the end: every item once
 *     batches/<batch>/rounds/<upload>/status.json         the final status
 */

import type { ItemOutcome } from './batch.js';

export const ITEMS_PER_PAGE = 200;

/** One line of a page. */
export interface BatchItem {
  readonly index: number;
  readonly line: number;
  readonly id: string;
  readonly item: unknown;
}

/** `batch.json`. */
export interface BatchHead {
  readonly id: string;
  readonly rounds: readonly { readonly folder: string; readonly total: number }[];
}

/** As much of the store as reading needs. */
export interface ReadableStore {
  get(key: string): Promise<{ readonly body: AsyncIterable<Uint8Array> } | null>;
  list(prefix: string, startAfter?: string): AsyncIterable<{ readonly key: string }>;
}

export const headKey = (batchId: string): string => `batches/${batchId}/batch.json`;
export const roundFolder = (batchId: string, upload: string): string => `batches/${batchId}/rounds/${upload}`;
export const templateKey = (folder: string): string => `${folder}/template.json`;
export const pageKey = (folder: string, page: number): string =>
  `${folder}/items/${String(page).padStart(6, '0')}.jsonl`;
/** @param file never used twice by a workflow. @param attempt of the activity: a late one must not replace it. */
export const outcomesKey = (folder: string, file: number, attempt: number): string =>
  `${folder}/outcomes/${String(file).padStart(8, '0')}-${attempt}.jsonl`;
export const outcomesPrefix = (folder: string): string => `${folder}/outcomes/`;
export const resultsKey = (folder: string): string => `${folder}/results.jsonl`;
export const statusKey = (folder: string): string => `${folder}/status.json`;

/** The attempt at an item in the first round has the short name. Item IDs have no slash, so none can clash. */
export function jobIdOf(batchId: string, itemId: string, round: number): string {
  return round === 1 ? `${batchId}/${itemId}` : `${batchId}/${itemId}/${round}`;
}

/** The JSON documents of an object, one a line; none where there is no such object. */
export async function* readLines<T>(store: ReadableStore, key: string): AsyncGenerator<T, void, undefined> {
  const found = await store.get(key);
  if (found === null) return;
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of found.body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') yield JSON.parse(line) as T;
  }
  if (rest !== '') yield JSON.parse(rest) as T;
}

/** The one JSON document of an object; `null` where there is none. */
export async function readDocument<T>(store: ReadableStore, key: string): Promise<T | null> {
  for await (const document of readLines<T>(store, key)) return document;
  return null;
}

export function toLines(documents: readonly unknown[]): string {
  return documents.map((document) => `${JSON.stringify(document)}\n`).join('');
}

/** Remembers which items were seen, at one bit each. */
export class SeenItems {
  #bits = new Uint8Array(1024);

  has(index: number): boolean {
    return ((this.#bits[index >> 3] ?? 0) & (1 << (index & 7))) !== 0;
  }

  /** @returns whether it was new. */
  add(index: number): boolean {
    if (this.has(index)) return false;
    if (index >> 3 >= this.#bits.length) {
      const larger = new Uint8Array(2 * (index >> 3));
      larger.set(this.#bits);
      this.#bits = larger;
    }
    this.#bits[index >> 3] = (this.#bits[index >> 3] ?? 0) | (1 << (index & 7));
    return true;
  }
}

/** Reads the outcomes of one round, each item once, and when asked again those that have come since. */
export class OutcomeReader {
  readonly #store: ReadableStore;
  readonly #folder: string;
  readonly #seen: SeenItems;
  readonly #filesRead = new Set<string>();

  /** @param seen items that shall be left out; those that are read are added. */
  constructor(store: ReadableStore, folder: string, seen: SeenItems = new SeenItems()) {
    this.#store = store;
    this.#folder = folder;
    this.#seen = seen;
  }

  /** In the order of their ends, nearly. */
  async *read(): AsyncGenerator<ItemOutcome, void, undefined> {
    for await (const { key } of this.#store.list(outcomesPrefix(this.#folder))) {
      if (this.#filesRead.has(key)) continue;
      this.#filesRead.add(key);
      yield* this.#unseen(key);
    }
    // Last: when it is written, the files above go away one by one.
    yield* this.#unseen(resultsKey(this.#folder));
  }

  async *#unseen(key: string): AsyncGenerator<ItemOutcome, void, undefined> {
    for await (const outcome of readLines<ItemOutcome>(this.#store, key)) {
      if (this.#seen.add(outcome.index)) yield outcome;
    }
  }
}
