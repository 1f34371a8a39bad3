/** What the demo observes by itself, past the product that it shows. */

import { readdir, readFile } from 'node:fs/promises';
import { Client, Connection } from '@temporalio/client';
import { request } from 'undici';
import type { DevSession } from '../../../contract/dev-session.js';

/** Processes of this machine that carry the job's ID in their environment. */
export async function processesOf(jobId: string): Promise<number[]> {
  const found: number[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    if (environment.split('\0').includes(`LONGHAUL_JOB_ID=${jobId}`)) found.push(Number(pid));
  }
  return found;
}

export interface Account {
  /** Events in the job's history. */
  readonly events: number;
  /** Sandboxes that were created and deleted for the job, by its history. */
  readonly created: number;
  readonly deleted: number;
  /** Sandboxes that the API still has. */
  readonly left: number;
}

export async function takeAccount(session: DevSession, jobId: string): Promise<Account> {
  const connection = await Connection.connect({ address: session.temporal.address });
  try {
    const { events } = await new Client({ connection }).workflow.getHandle(jobId).fetchHistory();
    const all = events ?? [];
    const outcomesOf = (activity: string) =>
      all.flatMap(({ activityTaskCompletedEventAttributes: completed }) => {
        const scheduled =
          all[Number(completed?.scheduledEventId ?? 0) - 1]?.activityTaskScheduledEventAttributes;
        const data = completed?.result?.payloads?.[0]?.data;
        return scheduled?.activityType?.name === activity && data
          ? [JSON.parse(Buffer.from(data).toString('utf8'))]
          : [];
      });
    return {
      events: all.length,
      created: outcomesOf('createSandbox').length,
      deleted: outcomesOf('deleteSandboxes').flatMap((outcome: { deleted: string[] }) => outcome.deleted)
        .length,
      left: await countSandboxes(session),
    };
  } finally {
    await connection.close();
  }
}

async function countSandboxes({ sandboxApi }: DevSession): Promise<number> {
  const answer = await request(`${sandboxApi.url}/sandboxes`, {
    headers: { 'open-sandbox-api-key': sandboxApi.apiKey },
  });
  const { pagination } = (await answer.body.json()) as { pagination: { totalItems: number } };
  return pagination.totalItems;
}
