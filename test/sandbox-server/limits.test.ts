import { existsSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  createCgroup,
  detectCgroups,
  removeCgroup,
  removeStaleCgroups,
} from '../../local/sandbox-server/cgroups.js';
import { controlGroupsOf, processesMentioning, startTestServer, type TestServer, until } from './support.js';

const cgroups = detectCgroups();
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(async () => {
  await server.end();
});

test.runIf(cgroups !== null)(
  'a sandbox that wants more memory than its limit is Failed, OOMKilled',
  async () => {
    const id = await server.create({
      entrypoint: ['python3', '-c', 'b = bytearray(200 * 2**20); import time; time.sleep(100)'],
      resourceLimits: { memory: '64Mi' },
    });
    await server.untilState(id, 'Failed');
    expect((await server.call('GET', `/sandboxes/${id}`)).json.status).toMatchObject({
      reason: 'OOMKilled',
      message: 'Sandbox container exited with code 137.',
    });
    expect((await server.call('GET', `/sandboxes/${id}/diagnostics/inspect`)).text).toMatch(
      /OOMKilled: +true/,
    );
    await server.call('DELETE', `/sandboxes/${id}`);
  },
);

test.runIf(cgroups !== null)('the number of processes is limited', async () => {
  const python =
    'import os, time\nn = 0\ntry:\n    while n < 2000:\n        if os.fork() == 0: time.sleep(5); os._exit(0)\n        n += 1\nexcept OSError: print("refused")';
  expect(await server.run(`python3 -c '${python}'`)).toBe('refused\n');
});

test.runIf(cgroups !== null)('a bomb of 10,000 forks harms nobody else', async () => {
  const neighbour = await server.create();
  await server.untilReady(neighbour);
  const python = `import os, time
for n in range(10000):
    try:
        if os.fork() == 0: time.sleep(100)
    except OSError: pass
open("done", "w").close()
time.sleep(100)`;
  const bomb = await server.create({ entrypoint: ['python3', '-c', python] });
  await until(() => existsSync(join(server.dataDir, bomb, 'workspace/done')), 'all forks');
  expect(processesMentioning('range(10000)').length).toBeGreaterThan(100);
  expect(processesMentioning('range(10000)').length).toBeLessThan(600);
  expect(await server.untilReady(neighbour)).toMatchObject({ starts: 1 });
  expect(await server.run('echo works')).toBe('works\n');
  expect(await server.call('DELETE', `/sandboxes/${bomb}`)).toMatchObject({ status: 204 });
  expect(processesMentioning('range(10000)')).toEqual([]);
  expect(controlGroupsOf([bomb])).toEqual([]);
  await server.call('DELETE', `/sandboxes/${neighbour}`);
});

test.runIf(cgroups !== null)('the CPU is limited', async () => {
  const python = `import time
until = time.monotonic() + 1.5
while time.monotonic() < until: pass
print(time.process_time())`;
  const text = await server.run(`python3 -c '${python}'`, { resourceLimits: { cpu: '200m' } });
  expect(Number(text)).toBeLessThan(0.6);
});

test('/tmp is limited to 256 MiB', async () => {
  const fill = 'dd if=/dev/zero of=/tmp/big bs=1M count=300 2>/dev/null; stat -c %s /tmp/big';
  expect(Number(await server.run(fill))).toBeLessThanOrEqual(256 * 2 ** 20);
});

test('inspect says which limits are enforced', async () => {
  const id = await server.create({
    entrypoint: ['sleep', '100'],
    resourceLimits: { cpu: '500m', memory: '1Gi' },
  });
  const { text } = await server.call('GET', `/sandboxes/${id}/diagnostics/inspect`);
  expect(text).toMatch(
    cgroups === null ? /CPU: +0.50 cores \(NOT enforced\)/ : /CPU: +0.50 cores \(enforced, cgroup v[12]\)/,
  );
  expect(text).toMatch(/Memory: +1024 MiB/);
  expect(text).toMatch(/Disk: +NOT enforced/);
  await server.call('DELETE', `/sandboxes/${id}`);
});

test.runIf(cgroups !== null)(
  'control groups that nobody removed are collected, but not those in use',
  async () => {
    const running = await server.create({ entrypoint: ['sleep', '100'] });
    const limits = { cpuCores: null, memoryBytes: null, maxProcesses: 8 };
    const [fresh, stale] = [`fresh-${process.pid}`, `stale-${process.pid}`];
    createCgroup(cgroups!, fresh, limits);
    createCgroup(cgroups!, stale, limits);
    const longAgo = new Date(Date.now() - 3_600_000);
    for (const folder of controlGroupsOf([running, stale])) utimesSync(folder, longAgo, longAgo);
    removeStaleCgroups(cgroups!);
    expect(controlGroupsOf([stale])).toEqual([]);
    expect(controlGroupsOf([fresh]).length).toBeGreaterThan(0);
    expect(controlGroupsOf([running]).length).toBeGreaterThan(0);
    await removeCgroup(cgroups!, fresh);
    await server.call('DELETE', `/sandboxes/${running}`);
  },
);
