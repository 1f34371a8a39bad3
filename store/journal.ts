/** The event log of a job: one object for each time that something was added. */

import type { Ownership } from '../contract/activities.js';
import type { JobEvent } from '../contract/timeline.js';
import { keySegment } from './keys.js';
import type { Store } from './types.js';

/** So many digits that the order of the keys is that of the events. */
const SEQ_DIGITS = 10;
/** Objects that are read at once: a long log in S3 must not take a round trip for each of them. */
const READ_AHEAD = 16;

/** Where everything of a job lies. Another run of the same ID has a place of its own. */
export function jobPrefix({ jobId, runChainId }: Ownership): string {
  return `jobs/${keySegment(jobId)}/${keySegment(runChainId)}/`;
}

/**
 * Adds events; adding the same ones again changes nothing. The last one is a part of the name as well: an attempt
 * that was given up and comes late must not replace one that had more to say.
 * @throws StoreError; the reason of the signal.
 */
export async function appendEvents(
  store: Store,
  job: Ownership,
  events: readonly JobEvent[],
  signal?: AbortSignal,
): Promise<void> {
  const [first] = events;
  const last = events.at(-1);
  if (first === undefined || last === undefined) return;
  const lines = events.map((event) => `${JSON.stringify(event)}\n`).join('');
  await store.put(`${eventsPrefix(job)}${padded(first.seq)}-${padded(last.seq)}.jsonl`, lines, signal);
}

/**
 * All events in order, each once.
 * @throws StoreError; SyntaxError where an object is no event log.
 */
export async function* readEvents(store: Store, job: Ownership): AsyncGenerator<JobEvent> {
  let lastSeq = 0;
  for await (const keys of inGroups(store.list(eventsPrefix(job)))) {
    for (const events of await Promise.all(keys.map((key) => eventsIn(store, key)))) {
      for (const event of events) {
        // An addition that was cut off after it was written was made again with more.
        if (event.seq <= lastSeq) continue;
        lastSeq = event.seq;
        yield event;
      }
    }
  }
}

/** The run chains of which the store has anything, in no order of time. They are UUIDs, which are their own segments. */
export async function listRunChains(store: Store, jobId: string): Promise<string[]> {
  const prefix = `jobs/${keySegment(jobId)}/`;
  const chains: string[] = [];
  for (let startAfter = ''; ; ) {
    const next = await firstKey(store, prefix, startAfter);
    const chain = next?.slice(prefix.length).split('/')[0];
    if (chain === undefined) return chains;
    chains.push(chain);
    // Behind every key of this one, without reading their list: `~` comes after all characters of a key.
    startAfter = `${prefix}${chain}/~`;
  }
}

async function firstKey(store: Store, prefix: string, startAfter: string): Promise<string | undefined> {
  for await (const { key } of store.list(prefix, startAfter)) return key;
  return undefined;
}

function eventsPrefix(job: Ownership): string {
  return `${jobPrefix(job)}events/`;
}

function padded(seq: number): string {
  return String(seq).padStart(SEQ_DIGITS, '0');
}

async function* inGroups(objects: AsyncIterable<{ readonly key: string }>): AsyncGenerator<string[]> {
  let group: string[] = [];
  for await (const { key } of objects) {
    if (group.push(key) < READ_AHEAD) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

async function eventsIn(store: Store, key: string): Promise<JobEvent[]> {
  const found = await store.get(key);
  if (found === null) return [];
  const chunks: Uint8Array[] = [];
  for await (const chunk of found.body) chunks.push(chunk);
  const lines = Buffer.concat(chunks).toString('utf8').split('\n').filter(Boolean);
  try {
    return lines.map((line) => JSON.parse(line) as JobEvent);
  } catch (error) {
    throw new SyntaxError(`${key} in ${store.description} is no event log: ${(error as Error).message}`);
  }
}
