import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CancelledFailure } from '@temporalio/common';
import { expect, it, onTestFinished } from 'vitest';
import { recordEventsWith } from '../../activities/journal.js';
import type { JobEvent } from '../../contract/timeline.js';
import { openStore, readEvents, type Store } from '../../store/index.js';
import { attempt, owner } from './harness.js';

const event = (seq: number): JobEvent => ({
  seq,
  event: 'paused',
  at: '2026-03-01T22:00:00Z',
  phase: 'paused',
  cause: 'the window',
  checkpoint: null,
  answerWith: null,
});

it('records the events of a job where its timeline is read from, however often it is tried', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-events-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const store = await openStore(folder, {});
  const recordEvents = recordEventsWith({ store });
  await attempt(recordEvents, { owner, events: [event(1), event(2)] }).outcome;
  await attempt(recordEvents, { owner, events: [event(1), event(2)] }, { attempt: 2 }).outcome;
  await attempt(recordEvents, { owner, events: [event(3)] }).outcome;
  const read: JobEvent[] = [];
  for await (const each of readEvents(store, owner)) read.push(each);
  expect(read).toEqual([event(1), event(2), event(3)]);
});

it('stops waiting for a store that hangs when it is cancelled', async () => {
  const put: Store['put'] = (_, __, signal) =>
    new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
  const recordEvents = recordEventsWith({ store: { put } as Store });
  const { outcome, environment } = attempt(recordEvents, { owner, events: [event(1)] });
  environment.cancel();
  await expect(outcome).rejects.toBeInstanceOf(CancelledFailure);
});
