/**
 * Looks for sandboxes that carry our labels and whose job is over. The sandboxes are listed first and the jobs
 * after them, so that a job which starts in between is never taken for missing; the owner itself is asked last.
 */

import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { FindOrphansInput, FindOrphansOutcome, Orphan } from '../../contract/janitor.js';
import { AGENT_JOB_WORKFLOW, KEEP_SANDBOX_WORKFLOW } from '../../contract/messages.js';
import type { Dependencies } from '../dependencies.js';
import { heartbeatWhile } from '../heartbeats.js';
import { jobHash, ownerOf } from '../labels.js';
import type { Sandbox } from '../sandbox-api/index.js';

/** Workflows that may own a sandbox. */
const OWNERS = `ExecutionStatus = 'Running' AND WorkflowType IN ('${AGENT_JOB_WORKFLOW}', '${KEEP_SANDBOX_WORKFLOW}')`;

export function findOrphansWith({ api, client, namespace }: Dependencies) {
  return ({ minAgeMs }: FindOrphansInput): Promise<FindOrphansOutcome> => heartbeatWhile(find(minAgeMs));

  async function find(minAgeMs: number): Promise<FindOrphansOutcome> {
    const sandboxes = (await api.list({ metadata: {} })).filter((each) => ownerOf(each.metadata) !== null);
    const owners = await openOwners();
    const orphans: Orphan[] = [];
    for (const sandbox of sandboxes) {
      if (isYoung(sandbox, minAgeMs)) continue;
      const why = await whyOrphan(sandbox, owners);
      const { id: sandboxId, state, createdAt } = sandbox;
      if (why !== null) orphans.push({ sandboxId, state, createdAt, why });
    }
    return { looked: sandboxes.length, orphans };
  }

  /** Job IDs of open jobs and keepers, by the hash that the labels have. */
  async function openOwners(): Promise<ReadonlyMap<string, string>> {
    const owners = new Map<string, string>();
    for await (const { workflowId, type } of client.workflow.list({ query: OWNERS })) {
      const jobId = type === KEEP_SANDBOX_WORKFLOW ? workflowId.replace(/\/kept-[^/]+$/, '') : workflowId;
      owners.set(jobHash(namespace, jobId), jobId);
    }
    return owners;
  }

  async function whyOrphan(sandbox: Sandbox, owners: ReadonlyMap<string, string>): Promise<string | null> {
    const owner = ownerOf(sandbox.metadata);
    if (owner === null) return null;
    const jobId = owners.get(owner.jobHash);
    if (jobId === undefined) return `no open job has its label (run ${owner.runChainId})`;
    // The ID may have been used again, by a job that has other sandboxes.
    const chain = await runChainOf(client, jobId);
    if (chain === null || chain === owner.runChainId) return null;
    const keeper = await runChainOf(client, `${jobId}/kept-${owner.runChainId}`);
    return keeper === null
      ? `the job "${jobId}" is another run now (this one was ${owner.runChainId})`
      : null;
  }
}

/** First run of the open workflow; `null` where there is none. */
async function runChainOf(client: Client, workflowId: string): Promise<string | null> {
  try {
    const { raw, status, runId } = await client.workflow.getHandle(workflowId).describe();
    if (status.name !== 'RUNNING') return null;
    return raw.workflowExecutionInfo?.firstRunId || runId;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

/** Without a known age it counts as old: two looks are between it and the end anyway. */
function isYoung({ createdAt }: Sandbox, minAgeMs: number): boolean {
  return createdAt !== null && Date.now() - Date.parse(createdAt) < minAgeMs;
}
