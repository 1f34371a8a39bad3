/**
 * `kill -9` of the server at random instants, under a load of creates, pauses, resumes and deletes.
 * A longer run, or one that is to be repeated: `KILLS=100 KILL_SEED=7 npx vitest run test/sandbox-server/kills`.
 */

import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startSandboxServer } from '../../local/sandbox-server/index.js';
import {
  API_KEY,
  type Client,
  controlGroupsOf,
  createSpec,
  endProcess,
  processesMentioning,
  spawnServer,
  temporaryFolder,
} from './support.js';

const KILLS = Number(process.env.KILLS ?? 10);
const SEED = Number(process.env.KILL_SEED ?? Date.now() % 1_000_000);
const MAX_DELAY_MS = 250;

let dataDir: string;
const children: ChildProcess[] = [];
beforeEach(() => {
  dataDir = temporaryFolder();
});
afterEach(async () => {
  // Also when the test has failed nothing may be left.
  for (const child of children.splice(0)) await endProcess(child, 'SIGKILL');
  const server = await startSandboxServer({ dataDir, port: 0, apiKey: API_KEY });
  await server.close({ deleteAll: true });
  rmSync(dataDir, { recursive: true, force: true });
});

/** Numbers in [0, 1) by a linear congruential generator. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

async function start(...more: string[]) {
  const server = await spawnServer(dataDir, 'ignore', more);
  children.push(server.child);
  return server;
}

async function statesOf(client: Client): Promise<Map<string, string>> {
  const { json } = await client.call('GET', '/sandboxes?pageSize=200');
  const items = json.items as { id: string; status: { state: string } }[];
  return new Map(items.map(({ id, status }) => [id, status.state]));
}

/** How many entrypoints of each sandbox run on this machine, by the ID in their environment. */
function entrypointsOf(mark: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const pid of processesMentioning(mark)) {
    try {
      const [program, , script] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      const id = /OPENSANDBOX_ID=([0-9a-f-]+)/.exec(readFileSync(`/proc/${pid}/environ`, 'utf8'))?.[1];
      if (program === 'sleeper' && script !== undefined && id !== undefined) {
        counts.set(id, (counts.get(id) ?? 0) + 1);
      }
    } catch {}
  }
  return counts;
}

test(
  `${KILLS} kills leave nothing without an owner, and lose nothing that was promised (seed ${SEED})`,
  async () => {
    const random = randomNumbers(SEED);
    const mark = `mark-${process.pid}-${SEED}`;
    // bash -a: the entrypoint can be told from all that was wrapped around it.
    const entrypoint = ['/bin/bash', '-c', `exec -a sleeper bash -c "sleep 1000; : ${mark}"`];
    const spec = () =>
      createSpec({
        entrypoint,
        ...(random() < 0.3
          ? { volumes: [{ mountPath: '/workspace', pvc: { claimName: `claim-${random() < 0.5}` } }] }
          : {}),
      });
    const seen = new Set<string>();
    const created = new Set<string>();
    /** A deletion was begun; from then on it may be there or not, until it was answered with 204. */
    const maybeDeleted = new Set<string>();
    const deleted = new Set<string>();
    const quietly = (work: Promise<unknown>) => work.catch(() => undefined);

    for (let kill = 0; kill < KILLS; kill++) {
      const kind = random() < 0.5 ? 'pod' : 'frozen';
      const { client, child } = await start('--pause-kind', kind);
      const states = await statesOf(client);
      for (const id of states.keys()) seen.add(id);
      for (const id of created) if (!maybeDeleted.has(id)) expect([...states.keys()]).toContain(id);
      for (const id of deleted) expect([...states.keys()]).not.toContain(id);
      const old = [...states.keys()];
      const pick = () => old[Math.floor(random() * old.length)];
      const calls: Promise<unknown>[] = [];
      for (let n = 0; n < 3; n++) {
        calls.push(
          quietly(
            client.call('POST', '/sandboxes', spec()).then(({ status, json }) => {
              if (status === 202) created.add(json.id);
            }),
          ),
        );
      }
      for (const verb of ['pause', 'resume', 'pause', 'resume', 'pause']) {
        const id = pick();
        if (id !== undefined) calls.push(quietly(client.call('POST', `/sandboxes/${id}/${verb}`)));
      }
      // Keeps their number down.
      for (let n = 0; n < Math.max(1, old.length - 6); n++) {
        const id = pick();
        if (id === undefined) continue;
        maybeDeleted.add(id);
        calls.push(
          quietly(
            client.call('DELETE', `/sandboxes/${id}`).then(({ status }) => {
              if (status === 204) deleted.add(id);
            }),
          ),
        );
      }
      await sleep(random() * MAX_DELAY_MS);
      await endProcess(child, 'SIGKILL');
      await Promise.all(calls);
    }

    const { client, child } = await start();
    const unsettled = async () => {
      const { json } = await client.call('GET', '/sandboxes?pageSize=200');
      const items = json.items as { id: string; status: { state: string } }[];
      return items.filter(({ status }) => !/^(Running|Paused)$/.test(status.state));
    };
    await expect.poll(unsettled, { timeout: 30_000 }).toEqual([]);
    const states = await statesOf(client);
    for (const id of states.keys()) seen.add(id);
    for (const id of created) if (!maybeDeleted.has(id)) expect([...states.keys()]).toContain(id);
    for (const id of deleted) expect([...states.keys()]).not.toContain(id);
    // Deletions that were cut off are being finished.
    await expect
      .poll(() => sandboxFolders().filter((id) => !states.has(id)), { timeout: 15_000 })
      .toEqual([]);
    for (const [id, count] of entrypointsOf(mark)) expect([id, states.has(id), count]).toEqual([id, true, 1]);
    const running = [...states].filter(([, state]) => state === 'Running').map(([id]) => id);
    await expect.poll(() => running.filter((id) => entrypointsOf(mark).get(id) !== 1)).toEqual([]);

    for (const id of states.keys()) {
      expect(await client.call('DELETE', `/sandboxes/${id}`)).toMatchObject({ status: 204 });
    }
    await expect.poll(sandboxFolders, { timeout: 10_000 }).toEqual([]);
    expect(processesMentioning(mark)).toEqual([]);
    expect(controlGroupsOf([...seen, ...created])).toEqual([]);
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(dataDir);
    await endProcess(child, 'SIGTERM');
    expect(processesMentioning(dataDir)).toEqual([]);
  },
  60_000 + KILLS * 5000,
);

function sandboxFolders(): string[] {
  return readdirSync(dataDir).filter((name) => /^[0-9a-f]{8}-/.test(name));
}
