/**
 * The workflow `janitor`: looks twice, some time apart, for sandboxes whose job is over, and deletes those that
 * were so at both looks. Meant to be run by a schedule, or by hand.
 */

import { ActivityCancellationType, proxyActivities, sleep } from '@temporalio/workflow';
import type { JanitorActivities, JanitorInput, JanitorReport } from '../../contract/janitor.js';

const { findOrphans, deleteOrphans } = proxyActivities<JanitorActivities>({
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '30 seconds',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: { initialInterval: '2 seconds', backoffCoefficient: 2, maximumAttempts: 5 },
});

export async function janitor(input: JanitorInput): Promise<JanitorReport> {
  const { apply, minAgeMs, confirmAfterMs, maxDeletes } = input;
  const first = await findOrphans({ minAgeMs });
  if (first.orphans.length === 0) return { looked: first.looked, orphans: [], deleted: [], applied: apply };
  await sleep(confirmAfterMs);
  const second = await findOrphans({ minAgeMs });
  const seen = new Set(first.orphans.map(({ sandboxId }) => sandboxId));
  const orphans = second.orphans.filter(({ sandboxId }) => seen.has(sandboxId));
  const doomed = orphans.slice(0, maxDeletes).map(({ sandboxId }) => sandboxId);
  const deleted = apply && doomed.length > 0 ? await deleteOrphans({ sandboxIds: doomed }) : [];
  return { looked: second.looked, orphans, deleted, applied: apply };
}
