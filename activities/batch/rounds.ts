/** Opens and closes a round in the store: the list of a batch's rounds, and its complete results. */

import type { BatchActivities, BatchRound, FinishRoundInput, ItemOutcome } from '../../contract/batch.js';
import {
  type BatchHead,
  type BatchItem,
  headKey,
  OutcomeReader,
  outcomesPrefix,
  pageKey,
  readDocument,
  readLines,
  resultsKey,
  SeenItems,
  statusKey,
} from '../../contract/batch-files.js';
import { heartbeatWhile } from '../heartbeats.js';
import type { BatchContext } from './dependencies.js';
import { folderOf } from './pages.js';
import { withoutJob } from './report.js';

export function openRoundWith({ store }: BatchContext): BatchActivities['openRound'] {
  return async ({ batchId, folders, total }) => {
    const known = await readDocument<BatchHead>(store, headKey(batchId));
    const rounds = folders.map(
      (folder) => known?.rounds.find((round) => round.folder === folder) ?? { folder, total },
    );
    const head: BatchHead = { id: batchId, rounds };
    await store.put(headKey(batchId), JSON.stringify(head));
  };
}

export function finishRoundWith({ store }: BatchContext): BatchActivities['finishRound'] {
  return (input) => heartbeatWhile(finish(input));

  async function finish({ round, notStartedBecause, status }: FinishRoundInput): Promise<void> {
    const folder = folderOf(round);
    await store.put(resultsKey(folder), encoded(allOutcomes(round, notStartedBecause)));
    await store.put(statusKey(folder), JSON.stringify(status));
    // The results have it all.
    for await (const { key } of store.list(outcomesPrefix(folder))) await store.delete(key);
  }

  /** One for every item of the round, whatever happened. */
  async function* allOutcomes(round: BatchRound, notStartedBecause: string): AsyncGenerator<ItemOutcome> {
    const folder = folderOf(round);
    const seen = new SeenItems();
    yield* new OutcomeReader(store, folder, seen).read();
    for (let page = 0, items = 0; items < round.total; page += 1) {
      const before = items;
      for await (const item of readLines<BatchItem>(store, pageKey(folder, page))) {
        items += 1;
        if (!seen.add(item.index)) continue;
        yield withoutJob(item, round.number, {
          outcome: 'not-started',
          code: null,
          message: notStartedBecause,
        });
      }
      if (items === before) throw new Error(`${pageKey(folder, page)} is not in the store`);
    }
  }
}

async function* encoded(documents: AsyncIterable<unknown>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const document of documents) yield encoder.encode(`${JSON.stringify(document)}\n`);
}
