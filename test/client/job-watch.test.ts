import { describe, expect, it } from 'vitest';
import { LonghaulError } from '../../client/errors.js';
import { watchJob } from '../../client/job-watch.js';
import type { JobStatus } from '../../contract/status.js';
import { at, checkpoint, status } from './statuses.js';

/** Gives one answer a look; an error is thrown. */
function script(...answers: (JobStatus | Error)[]): () => Promise<JobStatus> {
  return async () => {
    const next = answers.shift();
    if (next === undefined) throw new Error('looked too often');
    if (next instanceof Error) throw next;
    return next;
  };
}

const done = status({ phase: 'completed', endedAt: at(30) });

describe('a watch', () => {
  it('yields changes only: not the passing of time, nor the same checkpoint read again', async () => {
    const later = status({
      checkpoint: checkpoint(1, at(11)),
      hours: { running: 0.6, paused: 0, provisioning: 0, wasted: 0 },
    });
    const seen: JobStatus[] = [];
    for await (const each of watchJob(script(status(), later, done), {})) seen.push(each);
    expect(seen).toEqual([status(), done]);
  });

  it('ends after the final phase', async () => {
    const seen: JobStatus[] = [];
    for await (const each of watchJob(script(done), {})) seen.push(each);
    expect(seen).toEqual([done]);
  });

  it('outlasts the absence of Temporal and of workers, and tells of it', async () => {
    const away = new LonghaulError('TEMPORAL_UNREACHABLE', 'away');
    const silent = new LonghaulError('WORKER_UNREACHABLE', 'silent');
    const troubles: string[] = [];
    const seen: JobStatus[] = [];
    const options = { onTrouble: (trouble: LonghaulError) => void troubles.push(trouble.message) };
    for await (const each of watchJob(script(away, silent, done), options)) seen.push(each);
    expect(troubles).toEqual(['away', 'silent']);
    expect(seen).toEqual([done]);
  });

  it('ends with an error that no waiting can cure', async () => {
    const gone = new LonghaulError('JOB_NOT_FOUND', 'gone');
    await expect(watchJob(script(gone), {}).next()).rejects.toBe(gone);
  });

  it('ends at once, without an error, when it is told to', async () => {
    const stop = new AbortController();
    const watch = watchJob(script(status()), { signal: stop.signal });
    await watch.next();
    const next = watch.next();
    stop.abort();
    expect(await next).toEqual({ done: true, value: undefined });
  });
});
