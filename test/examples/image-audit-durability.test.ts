import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  type AgentState,
  isDone,
  readState,
  spawnAgent,
  startAgent,
  stopAgent,
  stopAgents,
  waitForState,
} from './agent-process.js';
import {
  auditToTheEnd,
  compareReport,
  folder,
  independentWalk,
  type Report,
  readReport,
  stepOnDisk,
  tree,
  useWorkspace,
  workspace,
} from './audit-workspace.js';
import { makeTree, SPECIAL_FILES } from './made-tree.js';

const KILLS = 20;

useWorkspace();

test('a file that goes away between the plan and the visit is counted as vanished', async () => {
  await makeTree(tree, 5);
  const { url } = await startAgent({
    workspace,
    roots: tree,
    env: { GROUP_FILES: '1', PACE_MS: '20' },
  });
  await waitForState(url, () => true);
  await fetch(`${url}/drain`, { method: 'POST' });
  const { step } = (await readState(url)) as AgentState;
  // Groups are in the order of the paths, and "twin" is the last one.
  expect(step).toBeLessThan(SPECIAL_FILES + 5);
  await rename(join(tree, 'twin'), join(folder, 'elsewhere'));
  await stopAgents();
  const state = await auditToTheEnd();
  expect(state.result?.totals).toMatchObject({ files: SPECIAL_FILES + 4, vanished: 1 });
});

test(`an agent that is killed ${KILLS} times counts each file exactly once, and reports the very same bytes`, async () => {
  await makeTree(tree, 400);
  const env = { GROUP_FILES: '1' };
  const startedAt = performance.now();
  const undisturbed = await auditToTheEnd(env);
  const undisturbedMs = performance.now() - startedAt;
  await rm(workspace, { recursive: true });
  await mkdir(workspace);

  const delaysMs: number[] = [];
  const steps: number[] = [];
  for (let kill = 0; kill < KILLS; kill += 1) {
    // Every other one while the agent starts; the rest add up to more than half an audit, however slow.
    const starting = kill % 2 === 0;
    const options = { workspace, roots: tree, env };
    const child = starting ? spawnAgent(options) : (await startAgent(options)).child;
    const delayMs = Math.random() * (undisturbedMs / 8);
    delaysMs.push(delayMs);
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    await stopAgent(child, 'SIGKILL');
    steps.push(
      await stepOnDisk().catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return 0;
        throw error;
      }),
    );
  }
  const state = await auditToTheEnd(env);

  const story = `killed after ${delaysMs.map(Math.round)} ms, at steps ${steps}`;
  expect(steps, story).toEqual([...steps].sort((a, b) => a - b));
  expect(new Set(steps).size, story).toBeGreaterThan(2);
  expect(compareReport(await readReport(), await independentWalk({ roots: [tree] })), story).toEqual([]);
  expect(state.result?.reportDigest, story).toBe(undisturbed.result?.reportDigest);
  expect(state.result?.runs).toBeGreaterThan(1);
  expect(state.result?.runs).toBeLessThanOrEqual(KILLS + 1);
  expect((await readdir(join(workspace, 'groups'))).length).toBe(state.step);
});

test('a published checkpoint is always whole, never goes backwards, and is on disk before it is shown', async () => {
  await makeTree(tree, 300);
  const { url } = await startAgent({ workspace, roots: tree, env: { GROUP_FILES: '2' } });
  let last: AgentState | undefined;
  let reads = 0;
  while (last?.status !== 'done') {
    const state = await readState(url);
    if (state === undefined) continue;
    reads += 1;
    const groups = (await readdir(join(workspace, 'groups'))).filter((name) => name.endsWith('.jsonl'));
    expect(groups.length).toBeGreaterThanOrEqual(state.step);
    expect(await stepOnDisk()).toBeGreaterThanOrEqual(state.step);
    expect(state.step).toBeGreaterThanOrEqual(last?.step ?? 0);
    expect(state.progress).toBeGreaterThanOrEqual(last?.progress ?? 0);
    last = state;
  }
  expect(reads).toBeGreaterThan(10);
  const report = await fetch(`${url}/report.json`);
  expect(((await report.json()) as Report).totals).toEqual(last.result?.totals);
  expect((await fetch(`${url}/nothing`)).status).toBe(404);
});

test('a drain ends the group at hand and takes no other; after a restart the audit goes on', async () => {
  await makeTree(tree, 1500);
  // Without a pace between groups, a drain always comes in the middle of one.
  const env = { GROUP_FILES: '25' };
  const first = await startAgent({ workspace, roots: tree, env });
  await waitForState(first.url, ({ step }) => step >= 1);
  const answer = await fetch(`${first.url}/drain`, { method: 'POST' });
  const { drained, step } = (await answer.json()) as { drained: boolean; step: number };
  expect(drained).toBe(true);
  expect(await stepOnDisk()).toBe(step);
  for (let look = 0; look < 20; look += 1) {
    expect(await readState(first.url)).toMatchObject({ status: 'running', step });
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  expect((await fetch(`${first.url}/report.json`)).status).toBe(404);
  const stoppedAt = performance.now();
  expect(await stopAgent(first.child, 'SIGTERM')).toBe(0);
  expect(performance.now() - stoppedAt).toBeLessThan(2000);

  const second = await startAgent({ workspace, roots: tree, env });
  const resumed = await waitForState(second.url, () => true);
  expect(resumed.step).toBeGreaterThanOrEqual(step);
  expect(resumed.incarnation).toBe(2);
  const { result } = await waitForState(second.url, isDone);
  expect(result?.totals.files).toBe(SPECIAL_FILES + 1500);
  expect(result?.runs).toBe(2);
});

test('a drained agent that nobody stops goes on by itself', async () => {
  await makeTree(tree, 30);
  const env = { GROUP_FILES: '1', PACE_MS: '20', DRAIN_HOLD_MS: '200' };
  const { url } = await startAgent({ workspace, roots: tree, env });
  await waitForState(url, ({ step }) => step >= 1);
  const answer = await fetch(`${url}/drain`, { method: 'POST' });
  const { step } = (await answer.json()) as { step: number };
  expect(step).toBeLessThan(SPECIAL_FILES + 30);
  await waitForState(url, isDone);
});

test('an agent that cannot go on says why, for as long as it is asked', async () => {
  await writeFile(join(folder, 'a-file'), '');
  const unwritable = await startAgent({ workspace: join(folder, 'a-file/workspace'), roots: tree });
  const failed = await waitForState(unwritable.url, ({ status }) => status === 'failed');
  expect(failed.error?.message).toContain('ENOTDIR');

  await auditToTheEnd();
  const other = await startAgent({ workspace, roots: folder });
  const refused = await waitForState(other.url, ({ status }) => status === 'failed');
  expect(refused.error?.message).toContain(`holds an audit of ROOTS=${tree}`);

  const misspelt = await startAgent({ workspace, roots: tree, env: { DEPTH: 'two' } });
  const { error } = await waitForState(misspelt.url, ({ status }) => status === 'failed');
  expect(error?.message).toBe('DEPTH is "two"; it must be a whole number such as 3');
});
