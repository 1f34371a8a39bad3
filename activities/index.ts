/** The activities of Longhaul. What they need is handed in; they decide nothing about a job. */

import type { Activities } from '../contract/activities.js';
import type { BatchActivities } from '../contract/batch.js';
import type { JanitorActivities } from '../contract/janitor.js';
import { createBatchActivities } from './batch/index.js';
import { checkAnswer } from './check-answer.js';
import { createSandboxWith } from './create-sandbox.js';
import { deleteSandboxesWith } from './delete-sandboxes.js';
import { deliverEventsWith } from './deliver-events.js';
import { deliverInputWith } from './deliver-input.js';
import type { Dependencies } from './dependencies.js';
import { withFailures } from './failures.js';
import { deleteOrphansWith } from './janitor/delete-orphans.js';
import { findOrphansWith } from './janitor/find-orphans.js';
import { recordEventsWith } from './journal.js';
import { nudgeAgentWith } from './nudge-agent.js';
import { pauseSandboxWith } from './pause-sandbox.js';
import { probeWith } from './probe.js';
import { resumeSandboxWith } from './resume-sandbox.js';
import { checkSettings, planWindows } from './settings.js';
import { watchSandboxWith } from './watch/watch-sandbox.js';

export type { Dependencies } from './dependencies.js';
export { connectSandboxApi, sandboxFiles } from './sandbox-api/index.js';
export { secretsFrom } from './secret-references.js';
export { LocalWatches } from './watch/local-watches.js';

export function createActivities(
  deps: Dependencies,
): Omit<Activities, 'takeSnapshot' | 'restoreSnapshot' | 'collectArtifacts'> &
  JanitorActivities &
  BatchActivities {
  return {
    ...createBatchActivities(deps),
    createSandbox: withFailures(createSandboxWith(deps)),
    watchSandbox: withFailures(watchSandboxWith(deps)),
    pauseSandbox: withFailures(pauseSandboxWith(deps)),
    resumeSandbox: withFailures(resumeSandboxWith(deps)),
    deleteSandboxes: withFailures(deleteSandboxesWith(deps)),
    probe: probeWith(deps),
    deliverInput: withFailures(deliverInputWith(deps)),
    deliverEvents: deliverEventsWith(deps),
    nudgeAgent: withFailures(nudgeAgentWith(deps)),
    planWindows,
    checkSettings,
    checkAnswer,
    recordEvents: recordEventsWith(deps),
    findOrphans: withFailures(findOrphansWith(deps)),
    deleteOrphans: withFailures(deleteOrphansWith(deps)),
  };
}
