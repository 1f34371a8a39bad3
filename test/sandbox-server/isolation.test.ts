/** What a sandbox cannot do to the machine, to the server and to other sandboxes; for each back end that works here. */

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BackendName } from '../../local/sandbox-server/backends/backend.js';
import { detectBackend } from '../../local/sandbox-server/backends/detect.js';
import {
  API_KEY,
  processesMentioning,
  startTestServer,
  type TestServer,
  temporaryFolder,
} from './support.js';

const isRoot = process.getuid?.() === 0;
const succeeds = (command: string) => `if ${command} >/dev/null 2>&1; then echo YES; else echo no; fi`;

async function worksHere(backend: BackendName): Promise<boolean> {
  const folder = temporaryFolder();
  try {
    await detectBackend(folder, backend);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
const working = (
  await Promise.all(
    (['bwrap', 'unshare'] as const).map(async (name) => ((await worksHere(name)) ? [name] : [])),
  )
).flat();

test.runIf(process.platform === 'linux')('this machine allows a back end that isolates', () => {
  expect(working).not.toEqual([]);
});

describe.each(working)('inside a sandbox by %s', (backend) => {
  let server: TestServer;
  beforeAll(async () => {
    process.env.SECRET_OF_THE_SERVER = 'leak-me-not';
    server = await startTestServer({ backend });
  });
  afterAll(async () => {
    delete process.env.SECRET_OF_THE_SERVER;
    await server.end();
  });

  test.each([
    ['read the password file of the host', 'cat /etc/shadow'],
    ["see the host's home folders", 'ls /root /home'],
    ['write to /usr', 'touch /usr/x'],
    ['change kernel settings', 'sh -c "echo 1 > /proc/sys/net/ipv4/ip_forward"'],
    ['end its first process', 'sh -c "kill -9 1; sleep 0.1; false"'],
    ['make namespaces of its own', 'unshare -r true'],
    ['mount', 'mount -t tmpfs t /tmp'],
    ['become root', 'setpriv --reuid 0 true'],
    ['become another user', 'setpriv --reuid 1234 true'],
    ['see the memory of its first process', 'cat /proc/1/mem'],
    ['load or see kernel messages', 'dmesg'],
    ['reach the network', 'python3 -c \'import socket; socket.create_connection(("1.1.1.1", 53), 2)\''],
    ['look up names', 'getent hosts example.com'],
    ['make devices', 'mknod /tmp/null c 1 3'],
  ])('an entrypoint cannot %s', async (_what, command) => {
    expect(await server.run(succeeds(command))).toBe('no\n');
  });

  test('there are only its own processes, and nothing it could signal outside', async () => {
    const text = await server.run(`ls /proc | grep -c '^[0-9]*$'; ${succeeds(`kill -0 ${process.pid}`)}`);
    const [count, signalled] = text.split('\n');
    expect(Number(count)).toBeLessThan(10);
    expect(signalled).toBe('no');
  });

  test('neither the ports of the host nor those of another sandbox can be reached', async () => {
    const listener = createServer((_request, response) => response.end('host'));
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const { port } = listener.address() as AddressInfo;
    const other = await server.create();
    await server.untilReady(other);
    const connect = (to: number) =>
      succeeds(`python3 -c "import socket; socket.create_connection(('127.0.0.1', ${to}), 2)"`);
    expect(await server.run(`${connect(port)}; ${connect(8000)}`)).toBe('no\nno\n');
    listener.close();
    await server.call('DELETE', `/sandboxes/${other}`);
  });

  test('two can listen on the same port, and each is reached under its own ID', async () => {
    const ids = [await server.create(), await server.create()];
    for (const id of ids) expect(await server.untilReady(id)).toMatchObject({ starts: 1 });
    for (const id of ids) await server.call('DELETE', `/sandboxes/${id}`);
  });

  test('the workspace is the only folder shared with the host, and is its own', async () => {
    const other = await server.create({
      entrypoint: ['/bin/sh', '-c', 'echo mine > /workspace/private; sleep 100'],
    });
    expect(await server.run(`ls -A /workspace; ls -d ${server.dataDir} 2>&1`)).toMatch(/No such file/);
    await server.call('DELETE', `/sandboxes/${other}`);
  });

  test('the environment is the one asked for, and nothing of the server', async () => {
    const id = await server.create({ env: { GREETING: "it's $HOME\nand `more`", PATH: '/usr/bin:/bin' } });
    await server.untilReady(id);
    const { json } = await server.call('GET', `/sandboxes/${id}/proxy/8000/env`);
    expect(json).toMatchObject({
      GREETING: "it's $HOME\nand `more`",
      PATH: '/usr/bin:/bin',
      HOME: '/workspace',
      OPENSANDBOX_ID: id,
    });
    expect(JSON.stringify(json)).not.toContain('leak-me-not');
    expect(Object.keys(json)).not.toContain('OPEN_SANDBOX_API_KEY');
    await server.call('DELETE', `/sandboxes/${id}`);
  });

  test('a request cannot put programs or libraries under the steps before the entrypoint', async () => {
    const env = { PATH: '/workspace', LD_PRELOAD: '/workspace/evil.so' };
    const id = await server.create({ env, entrypoint: ['/bin/sh', '-c', 'exit 0'] });
    await server.untilState(id, 'Terminated');
    await server.call('DELETE', `/sandboxes/${id}`);
  });

  test('no files of the server are open', async () => {
    expect(await server.run('ls /proc/self/fd | tr "\\n" " "')).toBe('0 1 2 3 ');
  });

  test('SIGINT is not ignored, and terminals and shared memory work', async () => {
    const python =
      'import pty, multiprocessing, signal; pty.openpty(); multiprocessing.Lock(); print(signal.getsignal(2) is signal.SIG_IGN)';
    expect(await server.run(`python3 -c "${python}"`)).toBe('False\n');
  });

  test('it has no rights, and cannot get new ones', async () => {
    const status = await server.run('grep -E "^(Uid|NoNewPrivs|CapEff|CapPrm|CapBnd)" /proc/self/status');
    expect(status).toMatch(/^Uid:\t1000\t1000\t1000\t1000$/m);
    expect(status).toMatch(/^CapEff:\t0+$/m);
    expect(status).toMatch(/^CapPrm:\t0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
  });

  test('there is no way to the network but the loopback of its own', async () => {
    expect(
      await server.run('ls /sys/class/net 2>/dev/null || tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "'),
    ).toBe('lo\n');
  });

  test("neither the server's data folder nor its API key nor other workspaces can be found", async () => {
    const other = await server.create({
      entrypoint: ['/bin/sh', '-c', 'echo in-the-other-workspace > /workspace/private; sleep 100'],
    });
    const found = await server.run(
      `grep -rlsE "in-the-other-workspac[e]|${API_KEY.slice(0, -1)}[${API_KEY.at(-1)}]" /workspace /tmp /run /etc /dev/shm /mnt /root /home /var /proc/*/environ /proc/*/cmdline; echo done`,
    );
    expect(found).toBe('done\n');
    expect(await server.run(`cat ${join(server.dataDir, other, 'workspace/private')}`)).toMatch(
      /No such file/,
    );
    await server.call('DELETE', `/sandboxes/${other}`);
  });

  test('its secrets are in no list of processes, and in no file that another user could read', async () => {
    const id = await server.create({ env: { TOKEN: 'very-secret-token' } });
    await server.untilReady(id);
    expect(processesMentioning('very-secret-token')).toEqual([]);
    const { json } = await server.call('GET', `/sandboxes/${id}/proxy/8000/env`);
    expect(json.TOKEN).toBe('very-secret-token');
    if (isRoot) {
      const { init } = JSON.parse(readFileSync(join(server.dataDir, id, 'sandbox.json'), 'utf8'));
      const processes = readdirSync('/proc').filter((pid) => Number(pid) >= init.pid);
      for (const pid of processes) {
        expect(readAsNobody(`/proc/${pid}/environ`)).not.toContain('very-secret-token');
      }
      for (const name of ['environment', 'sandbox.json', 'log']) {
        expect(readAsNobody(join(server.dataDir, id, name))).toBe('');
      }
    }
    await server.call('DELETE', `/sandboxes/${id}`);
  });
});

/** Empty for what cannot be read. */
function readAsNobody(file: string): string {
  const options = ['--reuid', '65534', '--regid', '65534', '--clear-groups', 'cat', file];
  return spawnSync('setpriv', options, { encoding: 'utf8' }).stdout;
}
