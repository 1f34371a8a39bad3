/** Chooses the items that a retry makes new attempts at, and makes a round of them. */

import type { BatchHead, BatchItem } from '../contract/batch-files.js';
import { ITEMS_PER_PAGE, OutcomeReader, pageKey, readLines, templateKey } from '../contract/batch-files.js';
import type { Store } from '../store/types.js';
import { PageWriter } from './batch-upload.js';

/** `failed`: whose last attempt failed; `unfinished`: all that are not completed, never started ones, too. */
export type RetryChoice = 'failed' | 'unfinished';

export interface RetryRound {
  /** Items in it; with 0 there is nothing to do. */
  readonly total: number;
  /** Items of the batch that are completed. */
  readonly completed: number;
}

/** Old rounds stay as they are: their outcomes are the history of the batch. */
export async function uploadRetry(
  store: Store,
  head: BatchHead,
  choice: RetryChoice,
  folder: string,
): Promise<RetryRound> {
  const [first] = head.rounds;
  if (first === undefined) return { total: 0, completed: 0 };
  const last = await lastOutcomes(store, head, first.total);
  const wanted = (code: number | undefined) =>
    choice === 'failed' ? code === CODES.failed : code !== CODES.completed;
  const pages = new PageWriter(store, folder);
  for (let page = 0; page * ITEMS_PER_PAGE < first.total; page += 1) {
    for await (const item of readLines<BatchItem>(store, pageKey(first.folder, page))) {
      if (wanted(last[item.index])) await pages.add(item);
    }
  }
  await pages.end();
  const template = await store.get(templateKey(first.folder));
  if (template !== null) await store.put(templateKey(folder), template.body);
  return { total: pages.items, completed: last.filter((code) => code === CODES.completed).length };
}

const CODES = { completed: 1, failed: 2, cancelled: 3, 'not-started': 4 } as const;

/** One byte for each item, by its index. */
async function lastOutcomes(store: Store, { rounds }: BatchHead, total: number): Promise<Uint8Array> {
  const last = new Uint8Array(total);
  for (const { folder } of rounds) {
    for await (const { index, outcome } of new OutcomeReader(store, folder).read()) {
      last[index] = CODES[outcome];
    }
  }
  return last;
}
