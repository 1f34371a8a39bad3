/** `exec` and `files` against real sandboxes of the local server; only what Temporal would say of the job is made up. */

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { CliContext } from '../../client/cli/context.js';
import { addInsideCommands } from '../../client/cli/inside.js';
import { reportError } from '../../client/cli/report-error.js';
import type { Longhaul } from '../../client/longhaul.js';
import { execdOf, IDLE } from '../sandbox-server/execd-support.js';
import { API_KEY, startTestServer, type TestServer, until } from '../sandbox-server/support.js';

let server: TestServer;
let id: string;
let folder: string;
beforeAll(async () => {
  server = await startTestServer();
  id = await server.create(IDLE);
  folder = mkdtempSync(join(tmpdir(), 'longhaul-inside-'));
});
afterAll(async () => {
  await server.end();
  rmSync(folder, { recursive: true, force: true });
});

let written: { stdout: string; stderr: string };
beforeEach(() => {
  written = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    vi.spyOn(process[name], 'write').mockImplementation((chunk, ...rest) => {
      written[name] += chunk;
      (rest.at(-1) as (() => void) | undefined)?.();
      return true;
    });
  }
});
afterEach(() => vi.restoreAllMocks());

interface Setup {
  readonly status?: object;
  readonly env?: Record<string, string>;
}

/** The command line, for a job whose sandbox this is. */
async function longhaul(args: readonly string[], { status = {}, env = {} }: Setup = {}) {
  const known = {
    OPEN_SANDBOX_API_URL: server.url,
    OPEN_SANDBOX_API_KEY: API_KEY,
    ...env,
  };
  const context = new CliContext(known);
  const job = { phase: 'running', kept: null, sandbox: { id, state: 'running' }, ...status };
  context.withLonghaul = (work) =>
    work({
      jobs: { get: () => ({ status: async () => job }) },
      config: { env: known },
    } as unknown as Longhaul);
  const program = new Command('longhaul').exitOverride().configureOutput({ outputError: () => {} });
  addInsideCommands(program, context);
  try {
    await program.parseAsync(args, { from: 'user' });
    return { exitCode: context.exitCode, error: null };
  } catch (error) {
    const report = reportError(error);
    return { exitCode: report?.exitCode, error: report?.text ?? null };
  }
}

describe('exec', () => {
  it.each([
    ['proxy', {}],
    ['gateway', { gateway: true }],
  ])(
    'gives output and exit code of the command, by the %s',
    async (_, { gateway = false }: { gateway?: boolean }) => {
      const env: Record<string, string> = gateway ? { OPEN_SANDBOX_GATEWAY_URL: server.gatewayUrl } : {};
      const script = 'echo "$1"; echo; echo wrong >&2; exit 42';
      const { exitCode } = await longhaul(['exec', 'j', '--', 'sh', '-c', script, 'sh', `it's $HOME; "x"`], {
        env,
      });
      expect(exitCode).toBe(42);
      expect(written).toEqual({ stdout: `it's $HOME; "x"\n\n`, stderr: 'wrong\n' });
    },
  );

  it('runs in a folder and with variables that were asked for', async () => {
    const args = [
      'exec',
      'j',
      '--cwd',
      '/tmp',
      '-e',
      'A=1',
      '--env',
      'B=x=y',
      '--',
      'sh',
      '-c',
      'pwd; echo $A $B',
    ];
    expect(await longhaul(args)).toEqual({ exitCode: 0, error: null });
    expect(written.stdout).toBe('/tmp\n1 x=y\n');
    expect((await longhaul(['exec', 'j', '-e', 'A', '--', 'true'])).exitCode).toBe(2);
  });

  it('has the exit code of a shell for a command that a signal has ended', async () => {
    expect((await longhaul(['exec', 'j', '--', 'sh', '-c', 'kill -KILL $$'])).exitCode).toBe(137);
  });

  it('interrupts the command at Ctrl-C, and ends with it', async () => {
    const script = 'trap "echo bye; exit 9" TERM; echo ready; while :; do sleep 0.05; done';
    const running = longhaul(['exec', 'j', '--', 'sh', '-c', script]);
    await until(() => written.stdout.includes('ready'), 'the command');
    process.emit('SIGINT');
    expect((await running).exitCode).toBe(9);
    expect(written.stdout).toBe('ready\nbye\n');
    expect(process.listenerCount('SIGINT')).toBe(0);
  });

  it.each<[string, object, RegExp]>([
    ['is paused', { sandbox: { id: 'x', state: 'paused' } }, /"j" is paused, and nothing runs there/],
    ['is starting', { sandbox: { id: 'x', state: 'starting' } }, /is starting; try again in a moment/],
    ['is over', { phase: 'completed', sandbox: null }, /has no sandbox \(it is completed\)/],
    ['has lost it', { sandbox: { id: '00000000-0', state: 'running' } }, /sandbox of the job "j" is gone/],
  ])('says so of a job that %s', async (_, status, message) => {
    const { exitCode, error } = await longhaul(['exec', 'j', '--', 'true'], { status });
    expect(exitCode).toBe(4);
    expect(error).toMatch(message);
  });

  it('says so when the sandbox is paused in the middle of it, or behind its back', async () => {
    const other = await server.create(IDLE);
    const status = { sandbox: { id: other, state: 'running' } };
    const running = longhaul(['exec', 'j', '--', 'sh', '-c', 'echo ready; sleep 1000'], { status });
    await until(() => written.stdout.includes('ready'), 'the command');
    await server.call('POST', `/sandboxes/${other}/pause`);
    expect((await running).error).toMatch(/did not answer|before the command had ended/);
    await server.untilState(other, 'Paused');
    expect((await longhaul(['exec', 'j', '--', 'true'], { status })).error).toMatch(/is paused/);
  });

  it('goes into the sandbox of a failed job while that is kept', async () => {
    const status = { phase: 'failed', sandbox: null, kept: { sandboxId: id, until: '2030-01-01' } };
    expect((await longhaul(['exec', 'j', '--', 'true'], { status })).exitCode).toBe(0);
  });

  it('names what is wrong with the way to the API, and not the key', async () => {
    const wrongKey = await longhaul(['exec', 'j', '--', 'true'], {
      env: { OPEN_SANDBOX_API_KEY: 'wrong-key' },
    });
    expect(wrongKey).toMatchObject({ exitCode: 3, error: expect.stringMatching(/refused the API key/) });
    const nobody = await longhaul(['exec', 'j', '--', 'true'], {
      env: { OPEN_SANDBOX_API_URL: 'http://127.0.0.1:1' },
    });
    expect(nobody).toMatchObject({
      exitCode: 3,
      error: expect.stringMatching(/127\.0\.0\.1:1 did not answer/),
    });
    const unknown = await longhaul(['exec', 'j', '--', 'true'], { env: { OPEN_SANDBOX_API_URL: '' } });
    expect(unknown.error).toMatch(/is not known here[\s\S]*set OPEN_SANDBOX_API_URL/);
    expect(wrongKey.error).not.toContain('wrong-key');
  });
});

describe('files', () => {
  it('are put, listed and got', async () => {
    const local = join(folder, 'in.bin');
    writeFileSync(local, Buffer.from([0, 255, 10, 13]), { mode: 0o640 });
    expect(await longhaul(['files', 'put', 'j', local, 'some/where.bin'])).toEqual({
      exitCode: 0,
      error: null,
    });
    expect(await longhaul(['files', 'put', 'j', local])).toEqual({ exitCode: 0, error: null });
    await longhaul(['files', 'put', 'j', local, 'some/']);
    expect(await execdOf(server, id).output('cd /workspace; stat -c "%n %a %s" some/* in.bin')).toBe(
      'some/in.bin 640 4\nsome/where.bin 640 4\nin.bin 640 4\n',
    );

    written.stdout = '';
    await longhaul(['files', 'ls', 'j', 'some']);
    expect(written.stdout).toMatch(/^640 +4 +\d{4}-\S+Z +in\.bin\n640 +4 +\S+ +where\.bin\n$/);
    written.stdout = '';
    await longhaul(['files', 'ls', 'j', '--json']);
    expect(JSON.parse(written.stdout).map(({ path }: { path: string }) => path)).toContain('/workspace/some');

    const target = join(folder, 'out');
    mkdirSync(target);
    await longhaul(['files', 'get', 'j', '/workspace/some/where.bin', join(target, 'got')]);
    expect([...readFileSync(join(target, 'got'))]).toEqual([0, 255, 10, 13]);
    expect(readdirSync(target)).toEqual(['got']);
    expect(statSync(join(target, 'got')).size).toBe(4);
  });

  it('are got to standard output', async () => {
    await execdOf(server, id).put('/workspace/hello', 'hello\n');
    expect((await longhaul(['files', 'get', 'j', 'hello', '-'])).exitCode).toBe(0);
    expect(written.stdout).toBe('hello\n');
  });

  it.each<[string[], number, RegExp]>([
    [['get', 'j', 'nope', 'x'], 4, /There is no such file: open \/workspace\/nope/],
    [['ls', 'j', 'nope'], 4, /There is no such file/],
    [['put', 'j', '/nope/nope'], 4, /\/nope\/nope cannot be read \(ENOENT\)/],
    [['put', 'j', '-'], 2, /Standard input has no name/],
  ])('say what is wrong with %j', async (args, exitCode, message) => {
    expect(await longhaul(['files', ...args])).toEqual({ exitCode, error: expect.stringMatching(message) });
  });

  it('say what is wrong with a place that cannot be written, here or there', async () => {
    const local = join(folder, 'small');
    writeFileSync(local, 'x');
    const there = await longhaul(['files', 'put', 'j', local, '/usr/x']);
    expect(there).toEqual({ exitCode: 1, error: expect.stringMatching(/\/usr\/x/) });
    await longhaul(['files', 'put', 'j', local]);
    const here = await longhaul(['files', 'get', 'j', 'small', join(folder, 'no/such/folder')]);
    expect(here).toEqual({ exitCode: 1, error: expect.stringMatching(/ENOENT.*no\/such/) });
  });
});
