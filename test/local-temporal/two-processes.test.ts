import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Compiled, compileLocalTemporal } from './compiled.js';
import { GO, type Machine, makeMachine } from './fake-programs.js';

let compiled: Compiled;
let machine: Machine;
const children: ChildProcess[] = [];
beforeAll(async () => {
  compiled = await compileLocalTemporal();
});
afterAll(() => compiled.remove());
beforeEach(async () => {
  machine = await makeMachine();
  await machine.program('go', GO);
});
afterEach(async () => {
  await openGate();
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await machine.remove();
});

const openGate = () => writeFile(machine.env.GATE as string, '');

function findInAnotherProcess() {
  const script = `
    import { findTemporalCli } from ${JSON.stringify(compiled.entry)};
    const log = (line) => console.error(line);
    console.log(JSON.stringify(await findTemporalCli({ cacheDir: process.argv[1], env: process.env, log })));`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, machine.cacheDir], {
    env: machine.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  const found = text(child.stdout).then((line) => JSON.parse(line) as { path: string; source: string });
  found.catch(() => {});
  return { child, found, said: () => said };
}

const until = (condition: () => unknown) => vi.waitFor(condition, { timeout: 30_000, interval: 50 });

describe('two processes that need the temporal command', () => {
  it('build it once: the second says that it waits, and takes what the first has built', async () => {
    const first = findInAnotherProcess();
    await until(async () => expect(await machine.calls()).toBe(1));
    const second = findInAnotherProcess();
    await until(() => expect(second.said()).toContain(`Another process (${first.child.pid})`));
    await openGate();
    expect((await first.found).source).toBe('go-build');
    expect((await second.found).source).toBe('cache');
    expect(await machine.calls()).toBe(1);
    expect(await readdir(join(machine.cacheDir, 'temporal-cli-1.5.1'))).toEqual(['temporal']);
  });

  it('take over from one that was killed at it', async () => {
    const first = findInAnotherProcess();
    await until(async () => expect(await machine.calls()).toBe(1));
    const second = findInAnotherProcess();
    await until(() => expect(second.said()).toContain('Another process'));
    first.child.kill('SIGKILL');
    await once(first.child, 'exit');
    await until(async () => expect(await machine.calls()).toBe(2));
    await openGate();
    expect((await second.found).source).toBe('go-build');
    expect(await readdir(join(machine.cacheDir, 'temporal-cli-1.5.1'))).toEqual(['temporal']);
  });
});
