/** The commands that answer, configure and tell, against a real Temporal server with scripted agents. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkSettings } from '../../activities/settings.js';
import type { WatchOutcome } from '../../contract/activities.js';
import { appendEvents, openStore } from '../../store/index.js';
import { cursor, done, ready, type Script, summary } from '../workflows/job-harness.js';
import { runCli } from './cli.js';
import { inPhase, tell, until, useTemporal } from './temporal-server.js';

const temporal = useTemporal();
let home: string;
let spec: string;
const file = (name: string, text: string) => {
  writeFileSync(join(home, name), text);
  return join(home, name);
};
const cli = (...args: string[]) =>
  runCli(args, {
    TEMPORAL_ADDRESS: temporal.address,
    LONGHAUL_HOME: home,
    XDG_CONFIG_HOME: home,
    USER: 'ana',
  });

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'longhaul-cli-settings-'));
  spec = file('job.yaml', 'sandbox: { image: agent, entrypoint: [x] }\ninputGrace: 1h\n');
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const runsOn: Script = {
  watchSandbox: ({ mode }) => (mode === 'starting' ? ready(1) : tell(() => cursor(7))),
  checkSettings: (changes, current) => checkSettings({ changes, current, from: new Date().toISOString() }),
};

async function submit(id: string): Promise<void> {
  expect(await cli('submit', spec, '--id', id)).toMatchObject({ code: 0 });
  await until(() => temporal.longhaul.jobs.get(id).status(), inPhase('running'));
}

describe('configure', () => {
  it('changes what the file names, leaves out what is fixed, and shows it in the status', async () => {
    await temporal.withWorker(runsOn, async () => {
      await submit('limited');
      const limits = file('limits.yaml', 'sandbox: { image: other }\nlimits: { runningTime: 8h }\n');
      const { code, stdout, stderr } = await cli('configure', 'limited', '--file', limits);
      expect({ code, stdout }).toEqual({ code: 0, stdout: 'Changed limits of limited.\n' });
      expect(stderr).toContain('sandbox cannot be changed on a live job and was left out.');
      expect((await cli('status', 'limited')).stdout).toContain('runningTime 0 % of 8h');
      await temporal.longhaul.jobs.get('limited').cancel();
    });
  });

  it('refuses what is wrong, with each field, and the job goes on as it was', async () => {
    await temporal.withWorker(runsOn, async () => {
      await submit('unharmed');
      const wrong = file(
        'wrong.yaml',
        'pauseWindows: [{ from: "25:00", to: "06:00", timezone: Europe/Berln }]\nlimits: { deadline: 2020-01-01T00:00:00Z }\nnotify: [{ url: "ftp://x", events: [nap] }]\n',
      );
      const { code, stderr } = await cli('configure', 'unharmed', '--file', wrong);
      expect(code).toBe(2);
      for (const place of [
        'pauseWindows[0].from',
        'pauseWindows[0].timezone',
        'notify[0].url',
        'notify[0].events[0]',
      ])
        expect(stderr).toContain(place);
      expect(stderr).toContain('Europe/Berlin');
      const status = await temporal.longhaul.jobs.get('unharmed').status();
      expect(status).toMatchObject({ phase: 'running', limits: [], nextEdge: null });
      const over = file('over.yaml', 'limits: { deadline: "2020-01-01T00:00:00Z" }\n');
      expect((await cli('configure', 'unharmed', '--file', over)).stderr).toContain('is over already');
      await temporal.longhaul.jobs.get('unharmed').cancel();
    });
  });

  it('gives windows to a live job, which the preview then shows', async () => {
    await temporal.withWorker(runsOn, async () => {
      await submit('nightly');
      const nights = file(
        'nights.yaml',
        'pauseWindows: [{ from: "2027-06-01T22:00", to: "2027-06-02T06:00", timezone: Europe/Berlin }]\n',
      );
      expect(await cli('configure', 'nightly', '--file', nights)).toMatchObject({ code: 0 });
      const { stdout } = await cli('windows', 'preview', 'nightly', '--json');
      expect(JSON.parse(stdout)).toMatchObject([
        { start: '2027-06-01T20:00:00Z', end: '2027-06-02T04:00:00Z', hours: 8 },
      ]);
      expect((await cli('status', 'nightly')).stdout).toMatch(/calendar +pauses at 2027-06-01T20:00:/);
      await temporal.longhaul.jobs.get('nightly').cancel();
    });
  });
});

describe('input', () => {
  const waitKey = 'input:q';
  const question = { id: 'q', text: 'Which of them?', schema: { type: 'integer', minimum: 1 } };
  const asking = { ...cursor(4), checkpoint: { ...summary(4, 'waiting'), waitKey } };
  const asks = (): Script => {
    let answered: unknown;
    return {
      watchSandbox: ({ mode, knownWait }): WatchOutcome | Promise<never> => {
        if (mode === 'starting') return { kind: 'ready', cursor: asking };
        if (answered !== undefined) return done(5, answered);
        if (knownWait === waitKey) return tell(() => asking);
        return { kind: 'agent-waits', cursor: asking, waitKey, question };
      },
      deliverInput: ({ document }) => {
        answered = document.value;
        return { kind: 'delivered' };
      },
    };
  };

  it('shows the question, takes an answer that fits, and refuses any other', async () => {
    await temporal.withWorker(asks(), async () => {
      await submit('asking');
      await until(
        () => temporal.longhaul.jobs.get('asking').status(),
        ({ question: open }) => open !== null,
      );
      expect(JSON.parse((await cli('input', 'asking')).stdout)).toMatchObject(question);
      const wrong = await cli('input', 'asking', '--json', '0');
      expect(wrong.code).toBe(2);
      expect(wrong.stderr).toContain('does not fit the question');
      expect((await cli('input', 'asking', '--json', '{oops')).stderr).toContain('It is not JSON');
      expect(await cli('input', 'asking', '--json', '2')).toMatchObject({ code: 0 });
      expect(await temporal.longhaul.jobs.get('asking').result()).toBe(2);
    });
  });

  it('says so when nothing is asked, and when the job is over', async () => {
    await temporal.withWorker(runsOn, async () => {
      await submit('mute');
      expect(await cli('input', 'mute')).toMatchObject({ code: 4, stdout: '' });
      const refused = await cli('input', 'mute', '--text', 'hello');
      expect(refused).toMatchObject({ code: 4 });
      expect(refused.stderr).toContain('asks nothing now');
      await temporal.longhaul.jobs.get('mute').cancel();
    });
  });
});

describe('timeline and receipts', () => {
  it('show causes and durations, also of what only the event log still has', async () => {
    await temporal.withWorker(runsOn, async () => {
      await submit('told');
      expect(await cli('pause', 'told', '--reason', 'lunch', '--for', '1h', '--wait')).toMatchObject({
        code: 0,
      });
      const { stdout } = await cli('timeline', 'told');
      expect(stdout).toMatch(/paused .*manual \(ana@cli\): lunch/);
      const { events } = JSON.parse((await cli('timeline', 'told', '--json')).stdout);
      expect(events[0]).toMatchObject({ seq: 1, event: 'provisioning' });
      expect((await cli('receipts', 'told')).stdout).toContain('cause     manual');

      const job = temporal.longhaul.jobs.get('told');
      await job.cancel();
      await expect(job.result()).rejects.toThrow();
    });
    const runs = await temporal.longhaul.jobs.list();
    expect(runs.map(({ id }) => id)).toContain('told');
  });

  it('come from the store when no worker answers', async () => {
    await temporal.withWorker(runsOn, () => submit('left'));
    const store = await openStore(join(home, 'store'), {});
    const runChainId = await runOf('left');
    await appendEvents(store, { jobId: 'left', runChainId }, [
      {
        seq: 1,
        event: 'provisioning',
        at: '2026-12-01T10:00:00.000Z',
        phase: 'provisioning',
        cause: 'only the log knows',
        checkpoint: null,
        answerWith: null,
      },
    ]);
    expect((await cli('timeline', 'left')).stdout).toContain('only the log knows');
  });
});

async function runOf(id: string): Promise<string> {
  const { Client, Connection } = await import('@temporalio/client');
  const connection = await Connection.connect({ address: temporal.address });
  try {
    return (await new Client({ connection }).workflow.getHandle(id).describe()).runId;
  } finally {
    await connection.close();
  }
}
