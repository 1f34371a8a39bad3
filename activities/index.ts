/** The activities of Longhaul. What they need is handed in; they decide nothing about a job. */

import type { Activities } from '../contract/activities.js';
import { createSandboxWith } from './create-sandbox.js';
import { deleteSandboxesWith } from './delete-sandboxes.js';
import type { Dependencies } from './dependencies.js';
import { withFailures } from './failures.js';
import { pauseSandboxWith } from './pause-sandbox.js';
import { probeWith } from './probe.js';
import { resumeSandboxWith } from './resume-sandbox.js';
import { watchSandboxWith } from './watch/watch-sandbox.js';

export type { Dependencies } from './dependencies.js';
export { connectSandboxApi } from './sandbox-api/index.js';
export { LocalWatches } from './watch/local-watches.js';

export function createActivities(deps: Dependencies): Activities {
  return {
    createSandbox: withFailures(createSandboxWith(deps)),
    watchSandbox: withFailures(watchSandboxWith(deps)),
    pauseSandbox: withFailures(pauseSandboxWith(deps)),
    resumeSandbox: withFailures(resumeSandboxWith(deps)),
    deleteSandboxes: withFailures(deleteSandboxesWith(deps)),
    probe: probeWith(deps),
  };
}
