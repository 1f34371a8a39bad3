import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import type { JobEvent } from '../../contract/timeline.js';
import { appendEvents, jobPrefix, listRunChains, openStore, readEvents } from '../../store/index.js';

const folder = await mkdtemp(join(tmpdir(), 'longhaul-journal-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

const openNew = async () => openStore(await mkdtemp(join(folder, 'store-')), {});
const job = { jobId: 'team/nightly.1', runChainId: '0b0de4c6-fb69-486a-983d-94410dc5851e' };

function events(first: number, last: number): JobEvent[] {
  return Array.from({ length: last - first + 1 }, (_, index) => ({
    seq: first + index,
    event: 'running',
    at: '2026-03-01T00:00:00Z',
    phase: 'running',
    cause: `event ${first + index}\nof the job`,
    checkpoint: { step: index, progress: null },
    answerWith: null,
  }));
}

async function seqsOf(read: AsyncIterable<JobEvent>): Promise<number[]> {
  const seqs: number[] = [];
  for await (const { seq } of read) seqs.push(seq);
  return seqs;
}

describe('the event log', () => {
  it('gives back the events as they were, over many additions', async () => {
    const store = await openNew();
    const all = events(1, 120);
    for (let index = 0; index < all.length; index += 3)
      await appendEvents(store, job, all.slice(index, index + 3));
    const read: JobEvent[] = [];
    for await (const event of readEvents(store, job)) read.push(event);
    expect(read).toEqual(all);
  });

  it('has every event once, however often and with however much more it was added again', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.integer({ min: 1, max: 30 }), fc.nat(10)), { maxLength: 12 }),
        async (additions) => {
          const store = await openNew();
          const wanted = new Set<number>();
          for (const [first, more] of additions) {
            const added = events(first, first + more);
            for (const { seq } of added) wanted.add(seq);
            await appendEvents(store, job, added);
          }
          expect(await seqsOf(readEvents(store, job))).toEqual([...wanted].sort((a, b) => a - b));
        },
      ),
      { numRuns: 30 },
    );
  });

  it('loses nothing to an addition that was given up and comes late', async () => {
    const store = await openNew();
    await appendEvents(store, job, events(1, 5));
    await appendEvents(store, job, events(1, 3));
    expect(await seqsOf(readEvents(store, job))).toEqual([1, 2, 3, 4, 5]);
  });

  it('writes one object for each addition, and none for nothing', async () => {
    const store = await openNew();
    await appendEvents(store, job, []);
    await appendEvents(store, job, events(9, 11));
    await appendEvents(store, job, events(9, 11));
    const keys: string[] = [];
    for await (const { key } of store.list('')) keys.push(key);
    expect(keys).toEqual([`${jobPrefix(job)}events/0000000009-0000000011.jsonl`]);
    expect(jobPrefix(job)).toBe(`jobs/team=2Fnightly.1/${job.runChainId}/`);
  });

  it('keeps the runs of the same ID apart, and names them', async () => {
    const store = await openNew();
    const chains = ['run-a', 'run-a2', 'run-b'];
    for (const runChainId of chains) {
      await appendEvents(store, { ...job, runChainId }, events(1, 2));
      await store.put(`${jobPrefix({ ...job, runChainId })}evidence/1-pause-logs.txt`, 'x');
    }
    await appendEvents(store, { jobId: 'team/nightly.10', runChainId: 'other' }, events(1, 9));
    expect(await listRunChains(store, job.jobId)).toEqual(chains);
    expect(await listRunChains(store, 'team/nightly')).toEqual([]);
    expect(await seqsOf(readEvents(store, { ...job, runChainId: 'run-b' }))).toEqual([1, 2]);
    expect(await seqsOf(readEvents(store, { ...job, runChainId: 'none' }))).toEqual([]);
  });

  it('names the object that is no event log', async () => {
    const store = await openNew();
    await store.put(`${jobPrefix(job)}events/0000000001-0000000002.jsonl`, '{"seq":1}\n{"seq":');
    await expect(seqsOf(readEvents(store, job))).rejects.toThrow(
      /0000000001-0000000002\.jsonl in \/.* is no event log/,
    );
  });

  it('takes a job ID as long as Temporal does', async () => {
    const store = await openNew();
    const long = { jobId: `${'ä/'.repeat(500)}`, runChainId: job.runChainId };
    await appendEvents(store, long, events(1, 1));
    expect(await seqsOf(readEvents(store, long))).toEqual([1]);
    expect(await listRunChains(store, long.jobId)).toEqual([job.runChainId]);
  });
});
