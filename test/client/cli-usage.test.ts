/** What the command does without any server: usage, specs, and how it says that it reaches nobody. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CliContext } from '../../client/cli/context.js';
import { createProgram } from '../../client/cli/program.js';
import { reportError } from '../../client/cli/report-error.js';
import { runCli, startCli } from './cli.js';

let home: string;
let env: Record<string, string>;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'longhaul-cli-'));
  env = { LONGHAUL_HOME: home, XDG_CONFIG_HOME: home };
  writeFileSync(join(home, 'good.yaml'), 'id: good\nsandbox: { image: a, entrypoint: [x] }\n');
  writeFileSync(
    join(home, 'bad.yaml'),
    'sandbox: { image: a, entrypoint: [x], cpus: 2 }\ncheckpoint: { every: 5 }\n',
  );
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

describe('usage', () => {
  it('explains itself, with examples and exit codes', async () => {
    const { code, stdout } = await runCli(['--help'], env);
    expect(code).toBe(0);
    expect(stdout).toMatch(/Exit codes:\n {2}0 {2}done/);
    const run = await runCli(['run', '--help'], env);
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(run.stdout).toContain('Examples:\n  longhaul run job.yaml');
  });

  it.each([
    ['an unknown command', ['stauts', 'x'], /error: unknown command 'stauts'\n\(Did you mean status\?\)/],
    ['a missing argument', ['pause'], /error: missing required argument 'id'/],
    ['an unknown option', ['ls', '--al'], /error: unknown option '--al'/],
    ['a wrong duration', ['pause', 'x', '--timeout', '5'], /such as 30s or 2m/],
    ['a wrong count', ['ls', '--limit', 'many'], /whole number/],
    ['a wrong choice', ['submit', 'x', '--if-exists', 'maybe'], /Allowed choices are refuse, attach/],
  ])('is wrong with %s', async (_, args, expected) => {
    const program = createProgram(new CliContext(env));
    const error = await program.parseAsync(args, { from: 'user' }).catch((reason: unknown) => reason);
    expect(reportError(error)).toMatchObject({ exitCode: 2, text: expect.stringMatching(expected) });
  });

  it('is shown when there is no command: exit code 2', async () => {
    expect(await runCli([], env)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^Usage: longhaul/),
    });
  });

  it('is wrong on standard error: exit code 2', async () => {
    expect(await runCli(['stauts', 'x'], env)).toEqual({
      code: 2,
      stdout: '',
      stderr: "error: unknown command 'stauts'\n(Did you mean status?)\n  see --help\n",
    });
  });

  it('tells errors as one JSON document on request', async () => {
    const { code, stdout, stderr } = await runCli(['pause', '--json'], env);
    expect({ code, stderr }).toEqual({ code: 2, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      error: { code: 'USAGE', message: "missing required argument 'id'" },
    });
  });
});

describe('validate', () => {
  it('accepts a good spec', async () => {
    const path = join(home, 'good.yaml');
    expect(await runCli(['validate', path], env)).toEqual({
      code: 0,
      stdout: `${path} is valid.\n`,
      stderr: '',
    });
    const { stdout } = await runCli(['validate', path, '--json'], env);
    expect(JSON.parse(stdout)).toEqual({ valid: true, id: 'good' });
  });

  it('names every problem with file and path: exit code 2', async () => {
    const path = join(home, 'bad.yaml');
    const { code, stderr } = await runCli(['validate', path], env);
    expect(code).toBe(2);
    expect(stderr).toContain(`  ${path}: sandbox.cpus: is not a field of a job spec\n`);
    expect(stderr).toContain(`  ${path}: checkpoint.every: expected a duration`);
    const json = await runCli(['validate', path, '--json'], env);
    expect(json.code).toBe(2);
    expect(JSON.parse(json.stdout)).toMatchObject({
      error: { code: 'SPEC_INVALID', problems: [{ path: 'sandbox.cpus' }, { path: 'checkpoint.every' }] },
    });
  });

  it('refuses a bad spec before it looks for Temporal', async () => {
    expect((await runCli(['validate', join(home, 'none.yaml')], env)).stderr).toContain(
      'none.yaml: does not exist',
    );
  });
});

describe('Temporal that cannot be reached', () => {
  it('is named, with all that can be done: exit code 3', async () => {
    const { code, stderr } = await runCli(['ls'], env);
    expect(code).toBe(3);
    expect(stderr).toMatch(/error: No Temporal service is known.\n.*longhaul dev.*TEMPORAL_ADDRESS/);
  });

  it('is named with its address: exit code 3', async () => {
    const { code, stdout } = await runCli(['status', 'x', '--json'], {
      ...env,
      TEMPORAL_ADDRESS: '127.0.0.1:1',
    });
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({
      error: { code: 'TEMPORAL_UNREACHABLE', message: expect.stringContaining('127.0.0.1:1') },
    });
  });
});

it('does not mind a reader that goes away', async () => {
  const { child, ended } = startCli(['--help'], env);
  child.stdout?.destroy();
  expect((await ended).stderr).toBe('');
});
