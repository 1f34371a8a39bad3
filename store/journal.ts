/** The event log of a job: one object for each time that something was added. */

import type { Ownership } from '../contract/activities.js';
import type { JobEvent } from '../contract/timeline.js';
import { keySegment } from './keys.js';
import type { Store } from './types.js';

/** So many digits that the order of the keys is that of the events. */
const SEQ_DIGITS = 10;

/** Where everything of a job lies. Another run of the same ID has a place of its own. */
export function jobPrefix({ jobId, runChainId }: Ownership): string {
  return `jobs/${keySegment(jobId)}/${keySegment(runChainId)}/`;
}

/** Adds events; adding the same ones again changes nothing. */
export async function appendEvents(store: Store, job: Ownership, events: readonly JobEvent[]): Promise<void> {
  const [first] = events;
  if (first === undefined) return;
  const name = String(first.seq).padStart(SEQ_DIGITS, '0');
  const lines = events.map((event) => `${JSON.stringify(event)}\n`).join('');
  await store.put(`${jobPrefix(job)}events/${name}.jsonl`, lines);
}

/** All events in order, each once. */
export async function* readEvents(store: Store, job: Ownership): AsyncGenerator<JobEvent> {
  let lastSeq = 0;
  for await (const { key } of store.list(`${jobPrefix(job)}events/`)) {
    const found = await store.get(key);
    if (found === null) continue;
    for (const line of (await textOf(found.body)).split('\n')) {
      if (line === '') continue;
      const event = JSON.parse(line) as JobEvent;
      // An addition that was cut off after it was written was made again with more.
      if (event.seq <= lastSeq) continue;
      lastSeq = event.seq;
      yield event;
    }
  }
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
