import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { processesMentioning } from '../sandbox-server/support.js';
import {
  endProcess,
  hasStatus,
  KITS,
  post,
  readNotes,
  readSaved,
  readState,
  startAgent,
  useWorkspace,
  waitForState,
  workspace,
} from './kit-process.js';

useWorkspace();

/** A shell command that goes on when the file `go` is there. */
const untilGo = 'until [ -e $LONGHAUL_WORKSPACE/go ]; do sleep 0.05; done';
const letGo = () => writeFile(join(workspace, 'go'), '');

describe.each(KITS)('run of the $name kit', ({ commandLine }) => {
  const run = (script: string, ...flags: string[]) =>
    startAgent([...commandLine, 'run', ...flags, '--', '/bin/sh', '-c', script]);

  test('a command that ends well is done, with its last lines', async () => {
    const { url } = await run('for n in 1 2 3 4 5; do echo "line $n"; done; printf unended');
    const state = await waitForState(url, hasStatus('done'));
    expect(state).toMatchObject({
      progress: 1,
      message: 'line 4\nline 5\nunended',
      result: { exitCode: 0, output: 'line 4\nline 5\nunended' },
    });
  });

  test('a command that ends badly has failed, with its exit code and what it said last', async () => {
    const { url } = await run('echo fine; echo "disk is full" >&2; exit 3');
    const { error } = await waitForState(url, hasStatus('failed'));
    expect(error?.message).toMatch(/^the command ended with exit code 3: /);
    expect(error?.message).toContain('disk is full');
  });

  test('a command that is killed, and one that is not there, have failed', async () => {
    const killed = await run('kill -9 $$');
    const { error } = await waitForState(killed.url, hasStatus('failed'));
    expect(error?.message).toBe('the command was ended by SIGKILL');
    await endProcess(killed.child, 'SIGKILL');
    const missing = await startAgent([...commandLine, 'run', '--', '/no/such/program']);
    const state = await waitForState(missing.url, hasStatus('failed'));
    expect(state.error?.message).toMatch(/^the command could not be started: .*\/no\/such\/program/);
  });

  test.each([
    ['([0-9]+)%', 'at 45% now', 0.45],
    ['([0-9]+)%', '1%', 0.01],
    ['progress ([0-9.]+)', 'progress 0.25', 0.25],
    ['progress ([0-9.]+)', 'progress 80', 0.8],
    ['([0-9]+/[0-9]+) files', '3/4 files', 0.75],
    ['([0-9]+) of ([0-9]+)', '1 of 8', 0.125],
    ['([0-9]+)%', 'bar 10%\\rbar 60%\\r', 0.6],
    ['([0-9]+)%', '30%\\nno number here', 0.3],
  ])('progress %s of "%s" is %d', async (pattern, lines, progress) => {
    const { url } = await run(`printf '${lines.replaceAll('%', '%%')}\\n'; exit 1`, '--progress', pattern);
    expect(await waitForState(url, hasStatus('failed'))).toMatchObject({ progress });
  });

  test('progress and message are published while the command runs', async () => {
    const { url } = await run(`echo 40%; ${untilGo}`, '--progress', '([0-9]+)%');
    const state = await waitForState(url, ({ message }) => message !== undefined);
    expect(state).toMatchObject({ status: 'running', progress: 0.4, message: '40%' });
    await letGo();
    expect(await waitForState(url, hasStatus('done'))).toMatchObject({ progress: 1 });
  });

  test('the result is the file that the command left: JSON, or else text', async () => {
    const file = join(workspace, 'result');
    const json = await run(`echo '{ "found": [1, 2] }' > ${file}`, '--result', file);
    expect((await waitForState(json.url, hasStatus('done'))).result).toEqual({ found: [1, 2] });
  });

  test('a result that is text is text, and one that is not there a failure', async () => {
    const file = join(workspace, 'result');
    const missing = await run('true', '--result', file);
    const { error } = await waitForState(missing.url, hasStatus('failed'));
    expect(error?.message).toBe(`the command ended well, but its result ${file} is not there`);
    await endProcess(missing.child, 'SIGKILL');
    const text = await run(`echo '17 files' > ${file}`, '--result', file);
    expect((await waitForState(text.url, hasStatus('done'))).result).toBe('17 files\n');
  });

  test('a start after a pause runs the command again, told which start it is; one after its end does not', async () => {
    const script = `echo "run $LONGHAUL_INCARNATION" | tee -a $LONGHAUL_WORKSPACE/notes; ${untilGo}`;
    const first = await run(script);
    await waitForState(first.url, ({ message }) => message === 'run 1');
    expect((await post(first.url, '/drain')).status).toBe(200);
    expect(await endProcess(first.child, 'SIGTERM')).toBe(0);
    expect((await readSaved()).checkpoint).toMatchObject({ status: 'running', message: 'run 1' });

    const second = await run(script);
    await waitForState(second.url, ({ message }) => message === 'run 2');
    await letGo();
    const { result } = await waitForState(second.url, hasStatus('done'));
    await endProcess(second.child, 'SIGKILL');
    const third = await run(script);
    expect(await readState(third.url)).toMatchObject({ status: 'done', result, incarnation: 3 });
    expect(await readNotes()).toEqual(['run 1', 'run 2']);
  });

  test('SIGTERM reaches every part of a pipeline, and however the command takes it, the job has not ended', async () => {
    const part = `trap 'echo "$0 ends" >> ${workspace}/notes; exit 0' TERM; echo $$ >> ${workspace}/pids; while :; do sleep 0.05; done`;
    const { child } = await run(
      `sh -c '${part.replaceAll("'", `'"'"'`)}' one | sh -c '${part.replaceAll("'", `'"'"'`)}' two`,
    );
    const pids = async () =>
      (await readFile(join(workspace, 'pids'), 'utf8').catch(() => '')).trim().split('\n');
    await expect.poll(async () => (await pids()).length, { timeout: 20_000 }).toBe(2);
    expect(await endProcess(child, 'SIGTERM')).toBe(0);
    expect((await readNotes()).sort()).toEqual(['one ends', 'two ends']);
    expect((await readSaved()).checkpoint.status).toBe('running');
    const isThere = (pid: string) => existsSync(`/proc/${pid}/exe`);
    await expect.poll(async () => (await pids()).filter(isThere), { timeout: 20_000 }).toEqual([]);
  });

  test('SIGTERM in the instant in which the command is started leaves nothing running', async () => {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const { child } = await run(`sleep 60; : ${workspace}`);
      expect(await endProcess(child, 'SIGTERM')).toBe(0);
    }
    await expect.poll(() => processesMentioning(workspace), { timeout: 20_000 }).toEqual([]);
  });

  test('what a command leaves running does not keep it from being done', async () => {
    const { url } = await run(`(${untilGo}) & echo started`);
    expect(await waitForState(url, hasStatus('done'))).toMatchObject({ message: 'started' });
    await letGo();
  });

  test('a wrong command line is answered with the right one, and exit code 2', () => {
    const attempt = (...args: string[]) => {
      const [program, ...first] = commandLine as [string, ...string[]];
      const { status, stderr } = spawnSync(program, [...first, ...args], { encoding: 'utf8' });
      return `${status} ${stderr}`;
    };
    for (const args of [
      [],
      ['run'],
      ['run', '--'],
      ['go', '--', 'true'],
      ['run', '--prot', '1', '--', 'true'],
    ]) {
      expect(attempt(...args)).toMatch(/^2 longhaul-agent: usage: .* run \[--port N\]/);
    }
    expect(attempt('run', '--progress', '[0-9]+', '--', 'true')).toMatch(/^2 .*--progress needs a group/);
    expect(attempt('run', '--progress', '(', '--', 'true')).toMatch(/^2 longhaul-agent: /);
  });
});
