import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { countingJob, processesOf, until, useStack } from './stack.js';

const world = useStack();
let connection: Connection;
let client: Client;
beforeAll(async () => {
  connection = await Connection.connect({ address: world.stack.session.temporal.address });
  client = new Client({ connection });
});
afterAll(() => connection?.close());

const sweep = (apply: boolean, minAgeMs = 0) =>
  world.longhaul.sweep({ apply, minAgeMs, confirmAfterMs: 500 });
const running = ({ phase }: { phase: string }) => phase === 'running';

describe('the janitor', () => {
  it('finds what a terminated job left, tells why, and deletes it only when it is told to', async () => {
    const alive = await world.longhaul.jobs.submit(countingJob(3000, 100));
    const doomed = await world.longhaul.jobs.submit(countingJob(3000, 100));
    await until(alive, running);
    const { sandbox } = await until(doomed, running);
    await client.workflow.getHandle(doomed.id).terminate('no chance to clean up');

    expect(await sweep(false, 3_600_000)).toMatchObject({ looked: 2, orphans: [] });
    const told = await sweep(false);
    expect(told).toMatchObject({ looked: 2, deleted: [], applied: false });
    expect(told.orphans).toMatchObject([
      { sandboxId: sandbox?.id, why: expect.stringContaining('no open job has its label') },
    ]);
    expect(processesOf(doomed.id)).not.toEqual([]);

    expect((await sweep(true)).deleted).toEqual([sandbox?.id]);
    expect(processesOf(doomed.id)).toEqual([]);
    expect((await alive.status()).phase).toBe('running');
    await alive.cancel();
    await expect(alive.result()).rejects.toThrow();
    expect(await sweep(true)).toMatchObject({ looked: 0, orphans: [] });
  });

  it('tells the sandbox of an earlier run from that of the job that has its ID now', async () => {
    const first = await world.longhaul.jobs.submit(countingJob(3000, 100), { id: 'again' });
    const { sandbox: left } = await until(first, running);
    await client.workflow.getHandle('again').terminate();
    const second = await world.longhaul.jobs.submit(countingJob(3000, 100), { id: 'again' });
    const { sandbox: owned } = await until(second, running);
    const { orphans, deleted } = await sweep(true);
    expect(orphans).toMatchObject([{ why: expect.stringContaining('is another run now') }]);
    expect(deleted).toEqual([left?.id]);
    expect(await world.api.get(owned?.id ?? '')).toMatchObject({ state: 'Running' });
    await second.cancel();
    await expect(second.result()).rejects.toThrow();
  });
});
