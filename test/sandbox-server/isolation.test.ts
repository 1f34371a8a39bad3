import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from './support.js';

let server: TestServer;
beforeAll(async () => {
  process.env.SECRET_OF_THE_SERVER = 'leak-me-not';
  server = await startTestServer();
});
afterAll(async () => {
  delete process.env.SECRET_OF_THE_SERVER;
  await server.end();
});

const succeeds = (command: string) => `if ${command} >/dev/null 2>&1; then echo YES; else echo no; fi`;

describe.runIf(process.platform === 'linux')('inside a sandbox', () => {
  test('this machine allows namespaces', () => {
    expect(server.server.backend).not.toBe('plain');
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
});
