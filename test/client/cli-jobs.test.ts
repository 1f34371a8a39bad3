/** The built command against a real Temporal server, which it finds by the session file of `longhaul dev`. */

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DevSession } from '../../contract/dev-session.js';
import type { JobStatus } from '../../contract/status.js';
import { cursor, done, ready, type Script } from '../workflows/job-harness.js';
import { runCli, startCli } from './cli.js';
import { inPhase, tell, until, useTemporal } from './temporal-server.js';

const temporal = useTemporal();
let home: string;
let env: Record<string, string>;
let specPath: string;

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'longhaul-cli-jobs-'));
  env = { LONGHAUL_HOME: home, XDG_CONFIG_HOME: home, USER: 'ana' };
  const session: DevSession = {
    pid: process.pid,
    startedAt: new Date().toISOString(),
    temporal: { address: temporal.address, uiUrl: null, pid: process.pid },
    // Nobody listens there: whoever asks for logs is told so.
    sandboxApi: { url: 'http://127.0.0.1:1', gatewayUrl: 'http://127.0.0.1:1', apiKey: 'local' },
    taskQueue: 'longhaul',
    store: join(home, 'store'),
  };
  writeFileSync(join(home, 'dev.json'), JSON.stringify(session));
  specPath = join(home, 'job.yaml');
  writeFileSync(specPath, 'sandbox: { image: agent, entrypoint: [x] }\n');
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const cli = (...args: string[]) => runCli(args, env);

const finishes: Script = {
  watchSandbox: ({ mode }) => (mode === 'starting' ? ready(1) : done(9, { files: 3 })),
};
const fails: Script = {
  watchSandbox: () => ({
    kind: 'agent-failed',
    cursor: cursor(3),
    message: 'out of memory',
    logs: 'last words',
  }),
};
const runsOn: Script = {
  watchSandbox: ({ mode }) => (mode === 'starting' ? ready(1) : tell(() => cursor(7))),
};

async function isRunning(id: string): Promise<void> {
  await until(() => temporal.longhaul.jobs.get(id).status(), inPhase('running'));
}

describe('run', () => {
  it('ends with 0 when the job is done, and shows its result', async () => {
    await temporal.withWorker(finishes, async () => {
      const { code, stdout, stderr } = await cli('run', specPath, '--id', 'done');
      expect({ code, stderr }).toEqual({ code: 0, stderr: 'Submitted done.\n' });
      expect(stdout).toContain('✔ done completed in ');
      expect(stdout).toContain('"files": 3');
    });
  });

  it('ends with 1 when the job failed, and shows its last words', async () => {
    await temporal.withWorker(fails, async () => {
      const { code, stdout } = await cli('run', specPath, '--id', 'broken');
      expect(code).toBe(1);
      expect(stdout).toMatch(/✘ broken failed after .*\nAGENT_FAILED {2}out of memory\n.*\n│ last words\n/);
    });
  });

  it('is one JSON document per line on request', async () => {
    await temporal.withWorker(finishes, async () => {
      const { code, stdout } = await cli('run', specPath, '--json');
      const statuses = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as JobStatus);
      expect(code).toBe(0);
      expect(statuses.at(-1)).toMatchObject({ phase: 'completed', result: { files: 3 }, failure: null });
    });
  });

  it('detaches at Ctrl-C: the job goes on, and it says how to come back', async () => {
    await temporal.withWorker(runsOn, async () => {
      const run = startCli(['run', specPath, '--id', 'detached'], env);
      await until(
        async () => run.stdout(),
        (text) => text.includes('running'),
      );
      run.child.kill('SIGINT');
      const { code, stderr } = await run.ended;
      expect(code).toBe(0);
      expect(stderr).toContain(
        'Detached. The job goes on: longhaul watch detached · longhaul status detached · longhaul cancel detached',
      );
      expect((await temporal.longhaul.jobs.get('detached').status()).phase).toBe('running');
      const watch = startCli(['watch', 'detached'], env);
      await until(
        async () => watch.stdout(),
        (text) => text.includes('running'),
      );
      expect((await cli('cancel', 'detached')).stdout).toBe('Asked detached to cancel.\n');
      expect((await watch.ended).code).toBe(5);
    });
  });

  it('goes on when its reader goes away', async () => {
    await temporal.withWorker(runsOn, async () => {
      const { child, ended } = startCli(['run', specPath, '--id', 'unread', '--json'], env);
      await once(child.stdout as NodeJS.ReadableStream, 'data');
      child.stdout?.destroy();
      await isRunning('unread');
      await temporal.longhaul.jobs.get('unread').pause();
      expect(await ended).toMatchObject({ code: 0, stderr: '' });
      await temporal.longhaul.jobs.get('unread').cancel();
      await temporal.longhaul.jobs
        .get('unread')
        .result()
        .catch(() => {});
    });
  });
});

describe('steering', () => {
  it('pauses, resumes and cancels, and waits for it on request', async () => {
    await temporal.withWorker(runsOn, async () => {
      const submitted = await cli('submit', specPath);
      const id = submitted.stdout.trim();
      expect(submitted).toMatchObject({ code: 0, stdout: expect.stringMatching(/^agent-[0-9a-z]{8}\n$/) });
      await isRunning(id);
      const paused = await cli('pause', id, '--reason', 'night', '--wait', '--json');
      expect(paused.code).toBe(0);
      expect(JSON.parse(paused.stdout)).toMatchObject({
        id,
        sent: 'pause',
        status: { phase: 'paused', holds: [{ kind: 'manual', by: 'ana@cli', reason: 'night' }] },
      });
      expect((await cli('status', id)).stdout).toContain('a resume (paused by ana@cli: night)');
      expect((await cli('resume', id, '--wait')).stdout).toContain(`${id}  running`);
      expect((await cli('cancel', id, '--wait')).stdout).toContain(`${id}  cancelled`);
      expect((await cli('watch', id)).code).toBe(5);
      expect(await cli('pause', id)).toMatchObject({
        code: 4,
        stderr: `error: The job "${id}" has ended (cancelled); there is nothing to pause.\n`,
      });
    });
  });

  it('says how the job stands when it was not so in time: exit code 3', async () => {
    const script: Script = { ...runsOn, pauseSandbox: () => ({ kind: 'still-running', message: 'busy' }) };
    await temporal.withWorker(script, async () => {
      const job = await temporal.longhaul.jobs.submit(specPath, { id: 'stubborn' });
      await isRunning(job.id);
      const { code, stderr } = await cli('pause', job.id, '--wait', '--timeout', '2s');
      expect(code).toBe(3);
      expect(stderr).toMatch(/The pause of "stubborn" was sent, but after 2s it is .*busy/);
      await job.cancel();
      await job.result().catch(() => {});
    });
  });
});

describe('looking', () => {
  it('knows what it does not know: exit code 4', async () => {
    const { code, stderr } = await cli('status', 'nowhere');
    expect(code).toBe(4);
    expect(stderr).toMatch(/^error: There is no job "nowhere"\.\n {2}list the jobs/);
    expect((await cli('watch', 'nowhere', '--json')).code).toBe(4);
  });

  it('refuses a second job of the same ID unless it may attach: exit code 2', async () => {
    await temporal.withWorker(finishes, async () => {
      await (await temporal.longhaul.jobs.submit(specPath, { id: 'once' })).result();
    });
    const refused = await cli('submit', specPath, '--id', 'once');
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('has ended already (completed)'),
    });
    expect(await cli('submit', specPath, '--id', 'once', '--if-exists', 'attach', '--json')).toMatchObject({
      code: 0,
      stdout: '{\n  "id": "once"\n}\n',
    });
  });

  it('lists all jobs, in short', async () => {
    await temporal.withWorker(fails, async () => {
      await (await temporal.longhaul.jobs.submit(specPath, { id: 'listed' })).result().catch(() => {});
    });
    const { stdout } = await until(
      () => cli('ls', '--json'),
      (ended) => ended.stdout.includes('"listed"'),
    );
    expect(JSON.parse(stdout)).toContainEqual({
      id: 'listed',
      phase: 'failed',
      since: expect.any(String),
      waitingFor: null,
      checkpoint: { step: 3, progress: null, message: null },
      failure: { code: 'AGENT_FAILED', message: 'out of memory' },
      startedAt: expect.any(String),
      endedAt: expect.any(String),
    });
    expect((await cli('ls')).stdout).toMatch(/^ID +PHASE +FOR +PROGRESS +STARTED\n/);
  });

  it('gives the logs that were kept when the sandbox is gone, or says that there are none', async () => {
    await temporal.withWorker(fails, async () => {
      await (await temporal.longhaul.jobs.submit(specPath, { id: 'logged' })).result().catch(() => {});
    });
    expect(await cli('logs', 'logged')).toMatchObject({ code: 0, stdout: 'last words\n' });
    await temporal.withWorker(finishes, async () => {
      await (await temporal.longhaul.jobs.submit(specPath, { id: 'silent' })).result();
    });
    const none = await cli('logs', 'silent', '--json');
    expect(none.code).toBe(4);
    expect(JSON.parse(none.stdout)).toMatchObject({ error: { code: 'NO_LOGS' } });
    await temporal.withWorker(runsOn, async () => {
      const job = await temporal.longhaul.jobs.submit(specPath, { id: 'unreachable' });
      await isRunning(job.id);
      expect(await cli('logs', job.id)).toMatchObject({
        code: 3,
        stderr: expect.stringContaining('http://127.0.0.1:1 did not answer'),
      });
      await job.cancel();
      await job.result().catch(() => {});
    });
  });

  it('tells that no worker answers: exit code 3', async () => {
    const job = await temporal.longhaul.jobs.submit(specPath, { id: 'unattended' });
    const { code, stderr } = await cli('status', job.id);
    expect(code).toBe(3);
    expect(stderr).toMatch(
      /No worker answers on task queue "longhaul"\.\n {2}start one with `longhaul worker`/,
    );
    await temporal.withWorker(finishes, () => job.result());
  });
});

it('a worker that is not configured names every variable: exit code 2', async () => {
  const { code, stderr } = await runCli(['worker'], { TEMPORAL_ADDRESS: temporal.address });
  expect(code).toBe(2);
  expect(stderr).toMatch(/OPEN_SANDBOX_API_URL.*\n.*OPEN_SANDBOX_API_KEY: is missing/);
});
