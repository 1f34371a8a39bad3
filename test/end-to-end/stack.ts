/** The whole product in a temporary folder: what `longhaul dev` starts, and a client to it. */

import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, inject } from 'vitest';
import { connectSandboxApi, type SandboxApi } from '../../activities/sandbox-api/index.js';
import { Longhaul } from '../../client/index.js';
import type { JobSpecSource } from '../../contract/job-spec.schema.js';
import type { JobStatus } from '../../contract/status.js';
import type * as Dev from '../../local/dev/index.js';

// The built product, as its users start it: its processes are started from files.
const { startStack } = (await import(
  new URL('../../dist/local/dev/index.js', import.meta.url).href
)) as typeof Dev;

const AGENT = new URL('../support/counting-agent.mjs', import.meta.url);

export interface World {
  readonly stack: Dev.Stack;
  readonly stateDir: string;
  readonly longhaul: Longhaul;
  readonly api: SandboxApi;
}

/** Call once in a test file; the result is there when tests run. */
export function useStack(): World {
  const world = {} as { -readonly [key in keyof World]: World[key] };
  let stateDir: string;

  beforeAll(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'longhaul-e2e-'));
    const env = {
      ...process.env,
      PATH: `${dirname(inject('temporalCli'))}:${process.env.PATH}`,
      LONGHAUL_HOME: stateDir,
      HOOK_SECRET: 'a-secret-for-hooks',
    };
    world.stateDir = stateDir;
    world.stack = await startStack({ stateDir, env, log: () => {} });
    const { temporal, sandboxApi, store } = world.stack.session;
    world.longhaul = await Longhaul.connect({ address: temporal.address, env: { LONGHAUL_STORE: store } });
    world.api = connectSandboxApi({
      apiUrl: sandboxApi.url,
      apiKey: sandboxApi.apiKey,
      persistence: 'extensions',
    });
  });

  afterAll(async () => {
    await world.longhaul?.close();
    await world.api?.close();
    await world.stack?.stop();
    await rm(stateDir, { recursive: true, force: true });
  });

  return world;
}

/** A job whose agent does so many units of work, each taking so long. */
export function countingJob(
  units: number,
  unitMs: number,
  more: Partial<JobSpecSource['sandbox']> = {},
): JobSpecSource {
  return {
    sandbox: {
      image: 'node:20-slim',
      entrypoint: ['node', '/workspace/agent.mjs'],
      env: { UNITS: `${units}`, UNIT_MS: `${unitMs}` },
      files: [{ path: '/workspace/agent.mjs', content: readFileSync(AGENT, 'utf8') }],
      ...more,
    },
    checkpoint: { every: '200ms', stallAfter: '1m' },
  };
}

/** Waits for a status of the job that is so. */
export async function until(
  job: Awaited<ReturnType<Longhaul['jobs']['submit']>>,
  isSo: (status: JobStatus) => boolean,
  timeoutMs = 60_000,
): Promise<JobStatus> {
  let last: JobStatus | undefined;
  for await (const status of job.watch({ signal: AbortSignal.timeout(timeoutMs) })) {
    if (isSo(status)) return status;
    last = status;
  }
  throw new Error(`Never so within ${timeoutMs} ms; last: ${JSON.stringify(last)}`);
}

/** Processes on this machine whose environment carries the ID of the job. */
export function processesOf(jobId: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => readOrEmpty(`/proc/${pid}/environ`).split('\0').includes(`LONGHAUL_JOB_ID=${jobId}`))
    .map(Number);
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
