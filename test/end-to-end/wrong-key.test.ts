import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { Longhaul } from '../../client/index.js';
import { sessionEnvironment } from '../../contract/dev-session.js';
import { countingJob, until, useStack } from './stack.js';

const world = useStack();
const COMMAND = fileURLToPath(new URL('../../dist/client/cli/main.js', import.meta.url));
const TASK_QUEUE = 'another-queue';
let worker: ChildProcess | undefined;

async function stopWorker(): Promise<void> {
  if (worker === undefined) return;
  const exited = once(worker, 'exit');
  worker.kill('SIGTERM');
  await exited;
  worker = undefined;
}
afterEach(stopWorker);

function startWorker(apiKey: string): void {
  const session = sessionEnvironment(world.stack.session);
  const env = { ...process.env, ...session, OPEN_SANDBOX_API_KEY: apiKey, LONGHAUL_TASK_QUEUE: TASK_QUEUE };
  worker = spawn(process.execPath, [COMMAND, 'worker'], { env, stdio: 'ignore' });
}

it('a wrong API key parks the job, says so, and the job goes on when the key is right', async () => {
  startWorker('a-wrong-key');
  const { temporal, sandboxApi } = world.stack.session;
  const longhaul = await Longhaul.connect({ address: temporal.address, taskQueue: TASK_QUEUE, env: {} });
  try {
    const job = await longhaul.jobs.submit(countingJob(5, 50));
    const parked = await until(job, ({ holds }) => holds.length > 0);
    expect(parked.holds).toMatchObject([
      { kind: 'operator', reason: expect.stringContaining('INVALID_API_KEY') },
    ]);
    expect(parked.waitingFor?.what).toContain('an operator');
    expect(parked.failure).toBeNull();

    await stopWorker();
    startWorker(sandboxApi.apiKey);
    expect(await job.result()).toEqual({ marks: 5, starts: 1 });
    const status = await job.status();
    expect(status.holds).toEqual([]);
    expect(JSON.stringify(status)).not.toContain('a-wrong-key');
  } finally {
    await longhaul.close();
  }
});
