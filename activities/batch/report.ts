/** Puts outcomes into the store, and into the few words that fit into a history. */

import { activityInfo } from '@temporalio/activity';
import type { BatchRound, EndsReport, ItemOutcome } from '../../contract/batch.js';
import { type BatchItem, outcomesKey, toLines } from '../../contract/batch-files.js';
import { formatPositions } from '../../contract/batch-positions.js';
import type { ErrorCode } from '../../contract/errors.js';
import type { Store } from '../../store/types.js';
import { folderOf } from './pages.js';

export interface Ended {
  readonly position: number;
  readonly outcome: ItemOutcome;
}

/** An example is for a person to look at, not to keep. */
const EXAMPLE_MAX_CHARACTERS = 500;

/** Returns when the outcomes are in the store: what a workflow has heard of is never lost. */
export async function reportEnds(
  store: Store,
  round: BatchRound,
  file: number,
  ends: readonly Ended[],
): Promise<EndsReport> {
  if (ends.length > 0) {
    const key = outcomesKey(folderOf(round), file, activityInfo().attempt);
    await store.put(key, toLines(ends.map(({ outcome }) => outcome)));
  }
  const positionsOf = (those: readonly Ended[]) => formatPositions(those.map(({ position }) => position));
  const byCode = new Map<ErrorCode, Ended[]>();
  for (const ended of ends) {
    if (ended.outcome.outcome !== 'failed') continue;
    const code = ended.outcome.code ?? 'UNEXPECTED';
    byCode.set(code, [...(byCode.get(code) ?? []), ended]);
  }
  const sum = (pick: (outcome: ItemOutcome) => number | undefined) =>
    ends.reduce((total, { outcome }) => total + (pick(outcome) ?? 0), 0);
  return {
    completed: positionsOf(ends.filter(({ outcome }) => outcome.outcome === 'completed')),
    cancelled: positionsOf(ends.filter(({ outcome }) => outcome.outcome === 'cancelled')),
    failed: [...byCode].map(([code, those]) => ({
      code,
      positions: positionsOf(those),
      example: exampleOf(those[0] as Ended),
    })),
    hours: {
      running: sum(({ hours }) => hours?.running),
      paused: sum(({ hours }) => hours?.paused),
      provisioning: sum(({ hours }) => hours?.provisioning),
      wasted: sum(({ hours }) => hours?.wasted),
    },
    sandboxes: sum(({ sandboxes }) => sandboxes ?? undefined),
  };
}

/** The outcome of an item for which no job ran. */
export function withoutJob(
  { id, line, index }: BatchItem,
  attempt: number,
  end: Pick<ItemOutcome, 'outcome' | 'code' | 'message'>,
): ItemOutcome {
  return {
    item: id,
    line,
    index,
    attempt,
    jobId: null,
    ...end,
    hours: null,
    sandboxes: null,
    result: null,
    startedAt: null,
    endedAt: null,
  };
}

function exampleOf({ outcome }: Ended): { item: string; message: string } {
  return { item: outcome.item, message: (outcome.message ?? '').slice(0, EXAMPLE_MAX_CHARACTERS) };
}
