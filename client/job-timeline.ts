/** What happened to a job: all of it from the event log in the store, the latest from the workflow itself. */

import { storeLocation } from '../contract/dev-session.js';
import { TIMELINE_QUERY } from '../contract/messages.js';
import type { JobEvent } from '../contract/timeline.js';
import type { JobDescription } from './job-description.js';
import { askJob } from './job-updates.js';
import type { Temporal } from './temporal.js';

export interface JobTimeline {
  readonly events: readonly JobEvent[];
  /** Earlier events exist that could not be read; `null` where none is missing. */
  readonly incomplete: string | null;
}

/** @throws LonghaulError where neither the store nor a worker knows anything. */
export async function readTimeline(temporal: Temporal, job: JobDescription): Promise<JobTimeline> {
  const [logged, latest] = await Promise.allSettled([
    readLog(temporal, job),
    askJob<readonly JobEvent[]>(temporal, job.id, TIMELINE_QUERY),
  ]);
  const known = new Map<number, JobEvent>();
  for (const read of [logged, latest]) {
    if (read.status === 'fulfilled') for (const event of read.value) known.set(event.seq, event);
  }
  if (known.size === 0 && latest.status === 'rejected') throw latest.reason;
  const events = [...known.values()].sort((a, b) => a.seq - b.seq);
  const isWhole = events.every(({ seq }, index) => seq === index + 1);
  return {
    events,
    incomplete: isWhole
      ? null
      : `earlier events are in the event log of the worker's store; set LONGHAUL_STORE to read it from here`,
  };
}

async function readLog({ config }: Temporal, { id, runChainId }: JobDescription): Promise<JobEvent[]> {
  const { openStore, readEvents } = await import('../store/index.js');
  const store = await openStore(storeLocation(config.env), config.env);
  try {
    const events: JobEvent[] = [];
    for await (const event of readEvents(store, { jobId: id, runChainId })) events.push(event);
    return events;
  } finally {
    await store.close();
  }
}
