/** The activities of batches: they start jobs, wait for their ends and steer them, through a Temporal client. */

import type { BatchActivities } from '../../contract/batch.js';
import { collectEndsWith } from './collect-ends.js';
import type { BatchContext, BatchDependencies } from './dependencies.js';
import { BatchPages } from './pages.js';
import { finishRoundWith, openRoundWith } from './rounds.js';
import { startJobsWith } from './start-jobs.js';
import { steerJobsWith } from './steer-jobs.js';

export type { BatchDependencies } from './dependencies.js';

export function createBatchActivities(deps: BatchDependencies): BatchActivities {
  const context: BatchContext = { ...deps, pages: new BatchPages(deps.store) };
  return {
    openRound: openRoundWith(context),
    startJobs: startJobsWith(context),
    collectEnds: collectEndsWith(context),
    steerJobs: steerJobsWith(context),
    finishRound: finishRoundWith(context),
  };
}
