import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client, Connection } from '@temporalio/client';
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { type DevServer, type DevServerOptions, startDevServer } from '../../local/temporal/index.js';
import { compileLocalTemporal } from './compiled.js';
import { writeProgram } from './fake-programs.js';

let folder: string;
const running: DevServer[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longhaul-temporal-'));
});
afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const options = (more: Partial<DevServerOptions> = {}): DevServerOptions => ({
  cliPath: inject('temporalCli'),
  dbFile: join(folder, 'temporal.db'),
  logFile: join(folder, 'temporal.log'),
  searchAttributes: { LonghaulPhase: 'Keyword' },
  ...more,
});

async function start(more: Partial<DevServerOptions> = {}): Promise<DevServer> {
  const server = await startDevServer(options(more));
  running.push(server);
  return server;
}

async function withClient<T>({ address }: DevServer, work: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address });
  try {
    return await work(new Client({ connection }));
  } finally {
    await connection.close();
  }
}

function attributesOf(server: DevServer, namespace = 'default'): Promise<string[]> {
  return withClient(server, async ({ connection }) => {
    const listed = await connection.operatorService.listSearchAttributes({ namespace });
    return Object.keys(listed.customAttributes ?? {});
  });
}

const submit = (client: Client, workflowId: string, attributes: Record<string, number[] | string[]>) =>
  client.workflow.start('noSuchWorkflow', { workflowId, taskQueue: 'none', searchAttributes: attributes });

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

async function isListening(address: string): Promise<boolean> {
  const [host, port] = address.split(':') as [string, string];
  const socket = connect(Number(port), host);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

describe('the dev server', () => {
  it('keeps its data over a restart on the same file', async () => {
    const first = await start();
    await withClient(first, (client) => submit(client, 'kept', { LonghaulPhase: ['running'] }));
    await first.stop();
    const second = await start();
    const described = await withClient(second, (client) => client.workflow.getHandle('kept').describe());
    expect(described.status.name).toBe('RUNNING');
    expect(described.searchAttributes.LonghaulPhase).toEqual(['running']);
  });

  it('registers search attributes that an old database lacks, and takes them at once', async () => {
    await (await start()).stop();
    const server = await start({ searchAttributes: { LonghaulPhase: 'Keyword', LonghaulRank: 'Int' } });
    expect(await attributesOf(server)).toEqual(expect.arrayContaining(['LonghaulPhase', 'LonghaulRank']));
    await withClient(server, (client) => submit(client, 'ranked', { LonghaulRank: [3] }));
  });

  it('refuses a search attribute that the database has with another type', async () => {
    await (await start()).stop();
    await expect(start({ searchAttributes: { LonghaulPhase: 'Int' } })).rejects.toThrow(
      /LonghaulPhase is Keyword in its database, and Int is wanted/,
    );
  });

  it('refuses a type that Temporal does not have', async () => {
    await expect(start({ searchAttributes: { LonghaulPhase: 'String' } })).rejects.toThrow(
      /LonghaulPhase has the type String/,
    );
  });

  it('makes another namespace, with its search attributes', async () => {
    const server = await start({ namespace: 'elsewhere' });
    expect(await attributesOf(server, 'elsewhere')).toContain('LonghaulPhase');
  });

  it('can run beside others, all with a web UI on free ports', async () => {
    const servers = await Promise.all(
      ['a', 'b'].map((name) => start({ dbFile: join(folder, `${name}.db`), port: 0, uiPort: 0 })),
    );
    expect(new Set(servers.flatMap(({ address, uiUrl }) => [`http://${address}`, uiUrl])).size).toBe(4);
    for (const { uiUrl } of servers) expect((await fetch(uiUrl as string)).status).toBe(200);
  });

  it('says at once that a port which was asked for is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    try {
      await expect(start({ port })).rejects.toThrow(`Port ${port} on 127.0.0.1 is taken`);
    } finally {
      other.close();
    }
  });

  it('tries another free port when the first was taken in the meantime', async () => {
    const unlucky = await writeProgram(
      join(folder, 'unlucky-temporal'),
      `if [ ! -e "${folder}/tried" ]; then
         echo once > "${folder}/tried"
         echo "listen tcp 127.0.0.1:1: bind: address already in use" >&2
         exit 1
       fi
       exec "${inject('temporalCli')}" "$@"`,
    );
    const server = await start({ cliPath: unlucky });
    expect(await attributesOf(server)).toContain('LonghaulPhase');
    expect(await readFile(join(folder, 'tried'), 'utf8')).toBe('once\n');
  });

  it('says why it did not start, with the end of this start’s log', async () => {
    const nowhere = start({ dbFile: join(folder, 'no/such/folder/a.db') });
    await expect(nowhere).rejects.toThrow(/ended with exit code 1[\s\S]*no such file or directory/i);
  });

  it('says that the command is not there', async () => {
    await expect(start({ cliPath: join(folder, 'nothing') })).rejects.toThrow('ENOENT');
  });

  it('is gone when it was stopped, which may be asked for twice', async () => {
    const server = await start();
    await Promise.all([server.stop(), server.stop()]);
    expect(isAlive(server.pid)).toBe(false);
    await server.stop();
  });

  it('does not outlive a parent that was killed', async () => {
    const compiled = await compileLocalTemporal();
    const script = `
      import { startDevServer } from ${JSON.stringify(compiled.entry)};
      console.log((await startDevServer(${JSON.stringify(options())})).address);`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const [address] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string];
      expect(await isListening(address)).toBe(true);
      parent.kill('SIGKILL');
      await vi.waitFor(async () => expect(await isListening(address)).toBe(false), {
        timeout: 30_000,
        interval: 50,
      });
    } finally {
      parent.kill('SIGKILL');
      await compiled.remove();
    }
  });
});
