import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { type DevServer, startDevServer } from '../../local/temporal/index.js';

let folder: string;
const running: DevServer[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longhaul-temporal-'));
});
afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
  await rm(folder, { recursive: true, force: true });
});

async function start(
  db: string,
  searchAttributes: Record<string, 'Keyword' | 'Int'> = { LonghaulPhase: 'Keyword' },
) {
  const server = await startDevServer({
    cliPath: inject('temporalCli'),
    dbFile: join(folder, db),
    logFile: join(folder, 'temporal.log'),
    searchAttributes,
  });
  running.push(server);
  return server;
}

async function attributesOf(server: DevServer): Promise<string[]> {
  const connection = await Connection.connect({ address: server.address });
  try {
    const listed = await connection.operatorService.listSearchAttributes({ namespace: 'default' });
    return Object.keys(listed.customAttributes ?? {});
  } finally {
    await connection.close();
  }
}

describe('the dev server', () => {
  it('answers with its search attributes registered, also those that an old database lacks', async () => {
    const first = await start('a.db');
    expect(await attributesOf(first)).toContain('LonghaulPhase');
    await first.stop();
    const second = await start('a.db', { LonghaulPhase: 'Keyword', LonghaulRank: 'Int' });
    expect(await attributesOf(second)).toEqual(expect.arrayContaining(['LonghaulPhase', 'LonghaulRank']));
  });

  it('can run beside another one', async () => {
    const servers = await Promise.all([start('a.db'), start('b.db')]);
    expect(new Set(servers.map(({ address }) => address)).size).toBe(2);
  });

  it('is gone when it was stopped', async () => {
    const server = await start('a.db');
    await server.stop();
    expect(() => process.kill(server.pid, 0)).toThrow('ESRCH');
  });

  it('says why it did not start', async () => {
    const nowhere = startDevServer({
      cliPath: inject('temporalCli'),
      dbFile: join(folder, 'no/such/folder/a.db'),
      logFile: join(folder, 'temporal.log'),
      searchAttributes: {},
    });
    await expect(nowhere).rejects.toThrow(/ended \(exit code 1\)[\s\S]*unable to open|no such/i);
  });
});
