/** `npm run conformance`, as a program against the local server. */

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  API_KEY,
  startTestServer,
  type TestServer,
  temporaryFolder,
  until,
} from '../sandbox-server/support.js';

const MAIN = fileURLToPath(new URL('../../dist/conformance/main.js', import.meta.url));

let server: TestServer;
const folder = temporaryFolder();
beforeAll(async () => {
  if (!existsSync(MAIN)) throw new Error(`${MAIN} is missing: npm run build`);
  server = await startTestServer({ faults: true });
});
const started: ChildProcess[] = [];
afterAll(async () => {
  for (const child of started) child.kill('SIGKILL');
  await server.end();
  rmSync(folder, { recursive: true, force: true });
});

interface Run {
  readonly child: ChildProcess;
  readonly ended: Promise<{ readonly code: number | null; readonly said: string }>;
}

function start(args: readonly string[], apiKey = API_KEY): Run {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH: process.env.PATH, NO_COLOR: '1', OPEN_SANDBOX_API_KEY: apiKey },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  started.push(child);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      said += chunk;
    });
  }
  const ended = new Promise<{ code: number | null; said: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, said })),
  );
  return { child, ended };
}

async function sandboxesLeft(): Promise<number> {
  return (await server.call('GET', '/sandboxes')).json.items.length;
}

it('prints and writes what the deployment can do and how fast, and leaves nothing', async () => {
  const json = join(folder, 'report.json');
  const { code, said } = await start(['--url', server.url, '--rounds', '2', '--json', json]).ended;
  expect(said).toMatch(/^ok {4}pause-kind +pod deleted/m);
  expect(said).toMatch(/^create → first answer of the agent( +[\d.]+){3}$/m);
  expect(code).toBe(0);
  expect(said).not.toContain(API_KEY);
  const report = JSON.parse(readFileSync(json, 'utf8'));
  expect(report.measurement.createToReady).toMatchObject({ n: 2 });
  expect(report.capabilities[0]).toMatchObject({ capability: 'key', verdict: 'ok' });
  expect(await sandboxesLeft()).toBe(0);
});

it('reaches the data plane by the gateway it is given', async () => {
  const { said } = await start(['--url', server.url, '--rounds', '0', '--gateway', server.gatewayUrl]).ended;
  expect(said).toMatch(/^ok {4}gateway +given gateway/m);
});

it('exits with 1 when something is missing that jobs need', async () => {
  const rule = { fault: { kind: 'lost-volume' }, match: { path: '/sandboxes/*/resume' }, count: 1 };
  await server.call('POST', '/__faults', { rules: [rule] });
  const { code, said } = await start(['--url', server.url, '--rounds', '0']).ended;
  await server.call('DELETE', '/__faults');
  expect(said).toMatch(/^FAIL {2}persistence/m);
  expect(said).toContain('Needed, and not so: The workspace is there again after a pause.');
  expect(code).toBe(1);
});

it('does not go on with a key that is refused', async () => {
  const { code, said } = await start(['--url', server.url], 'a-wrong-key').ended;
  expect([code, said.match(/^(FAIL|warn|ok) /gm)?.length]).toEqual([1, 1]);
  expect(said).not.toContain('a-wrong-key');
});

it('deletes what it made when it is interrupted', async () => {
  const { child, ended } = start(['--url', server.url, '--rounds', '50']);
  await until(async () => (await sandboxesLeft()) > 0, 'a sandbox');
  child.kill('SIGINT');
  expect(await ended).toMatchObject({ code: 130 });
  expect(await sandboxesLeft()).toBe(0);
});

it('tells how it is used', async () => {
  const { code, said } = await start(['--url', 'nowhere']).ended;
  expect([code, said]).toEqual([2, expect.stringContaining('Usage: npm run conformance')]);
});
