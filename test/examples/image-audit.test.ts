import { createHash } from 'node:crypto';
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { checkJobSpec } from '../../contract/job-spec.schema.js';
import {
  AGENT_PATH,
  type AgentState,
  isDone,
  readState,
  spawnAgent,
  startAgent,
  stopAgent,
  stopAgents,
  waitForState,
} from './agent-process.js';
import { LINKS, makeTree, SPECIAL_FILES } from './made-tree.js';

interface ReportedFile {
  path: string;
  size: number;
  sha256: string;
  interpreter?: string;
  elf?: { kind: string; bits: number; machine: string };
}

interface Report {
  totals: Record<string, number>;
  files: ReportedFile[];
  unreadable: { path: string; unreadable: string }[];
  vanished: string[];
}

interface Verifier {
  independentWalk(options: { roots: string[]; depth?: number; exclude?: string[] }): Promise<{
    totals: Record<string, number>;
    files: Map<string, { size: number; sha256: string | null }>;
  }>;
  compareReport(report: Report, walk: unknown): string[];
}

const VERIFIER_URL = new URL('../../examples/image-audit/verify.mjs', import.meta.url).href;
const { independentWalk, compareReport } = (await import(VERIFIER_URL)) as Verifier;

const KILLS = 20;
const NOBODY = 65_534;

let folder: string;
let tree: string;
let workspace: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'image-audit-'));
  tree = join(folder, 'tree');
  workspace = join(folder, 'workspace');
  await mkdir(tree);
  await mkdir(workspace);
});

afterEach(async () => {
  await stopAgents();
  await rm(folder, { recursive: true, force: true });
});

async function readReport(): Promise<Report> {
  return JSON.parse(await readFile(join(workspace, 'report.json'), 'utf8')) as Report;
}

async function auditToTheEnd(env: Record<string, string> = {}): Promise<AgentState> {
  const { child, url } = await startAgent({ workspace, roots: tree, env });
  const state = await waitForState(url, isDone);
  await stopAgent(child, 'SIGTERM');
  return state;
}

const stepOnDisk = async (): Promise<number> =>
  (JSON.parse(await readFile(join(workspace, 'state.json'), 'utf8')) as AgentState).step;

test('every kind of file is counted once and described', async () => {
  await makeTree(tree, 30);
  const state = await auditToTheEnd({ GROUP_FILES: '7' });
  const report = await readReport();

  expect(compareReport(report, await independentWalk({ roots: [tree] }))).toEqual([]);
  expect(report.totals).toMatchObject({
    files: SPECIAL_FILES + 30,
    links: LINKS,
    elf: 4,
    scripts: 3,
    setuid: 1,
    setgid: 1,
    unreadable: 0,
    vanished: 0,
  });
  const named = (name: string) => report.files.find(({ path }) => path === join(tree, name));
  expect(named('program')?.elf).toMatchObject({ kind: 'executable', bits: 64 });
  expect(named('lying-elf')?.elf).toMatchObject({ kind: 'other' });
  expect(named('truncated-elf')).not.toHaveProperty('elf');
  expect(named('env-script')?.interpreter).toBe('/usr/bin/env -S python3 -u');
  expect(named('rust-source')).not.toHaveProperty('interpreter');

  const bytes = await readFile(join(workspace, 'report.json'));
  const programBytes = named('program')?.size ?? Number.NaN;
  expect(state.result).toMatchObject({
    totals: report.totals,
    runs: 1,
    reportDigest: `sha256:${createHash('sha256').update(bytes).digest('hex')}`,
    setuid: [join(tree, 'setuid-program')],
    // Three programs, two scripts, two twins.
    duplicates: { groups: 3, wastedBytes: 2 * programBytes + 19 + 15 },
    interpreters: { sh: 2, python3: 1 },
  });
});

test('a folder reached by several roots is counted once, and DEPTH limits how far it is entered', async () => {
  await makeTree(tree, 3);
  const roots = [join(tree, 'link-to-folder'), tree, join(tree, 'deep'), join(tree, 'not-there')];
  const { url } = await startAgent({ workspace, roots: roots.join(':'), env: { DEPTH: '1' } });
  await waitForState(url, isDone);
  const report = await readReport();
  expect(compareReport(report, await independentWalk({ roots, depth: 1 }))).toEqual([]);
  // Only deep/er/est/twin is deeper than one folder below every root.
  expect(report.totals.files).toBe(SPECIAL_FILES + 3 - 1);
});

test('what may not be read, or has a name that is not UTF-8, is listed and does not stop the audit', async () => {
  await makeTree(tree, 3);
  await writeFile(join(tree, 'secret'), 'secret', { mode: 0 });
  await mkdir(join(tree, 'closed'));
  await writeFile(join(tree, 'closed/hidden'), 'hidden');
  await chmod(join(tree, 'closed'), 0);
  await writeFile(Buffer.concat([Buffer.from(`${tree}/latin1-`), Buffer.from([0xe9])]), 'é');
  // Root may read everything, so the agent then runs as somebody else.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) {
    await chmod(folder, 0o755);
    await chown(workspace, NOBODY, NOBODY);
  }
  const { url } = await startAgent({ workspace, roots: tree, ...(isRoot ? { uid: NOBODY } : {}) });
  const { result } = await waitForState(url, isDone);
  const report = await readReport();
  await chmod(join(tree, 'closed'), 0o700);

  expect(report.unreadable).toHaveLength(3);
  expect(report.unreadable).toContainEqual({ path: join(tree, 'secret'), unreadable: 'EACCES' });
  expect(report.unreadable).toContainEqual({ path: join(tree, 'closed'), unreadable: 'EACCES' });
  expect(result?.totals).toMatchObject({ files: SPECIAL_FILES + 3, unreadable: 3 });
  expect(compareReport(report, await independentWalk({ roots: [tree] }))).toEqual([]);
});

test('a file that goes away between the plan and the visit is counted as vanished', async () => {
  await makeTree(tree, 5);
  const { url } = await startAgent({
    workspace,
    roots: tree,
    env: { GROUP_FILES: '1', DRAIN_HOLD_MS: '60000' },
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
  const env = { GROUP_FILES: '2', PACE_MS: '2' };
  const undisturbed = await auditToTheEnd({ GROUP_FILES: '2' });
  await rm(workspace, { recursive: true });
  await mkdir(workspace);

  const delaysMs: number[] = [];
  const steps: number[] = [];
  for (let kill = 0; kill < KILLS; kill += 1) {
    // The first ones find the agent still starting or planning.
    const delayMs = Math.random() * 30 * (1 + kill / 2);
    delaysMs.push(delayMs);
    const child = spawnAgent({ workspace, roots: tree, env });
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
  await makeTree(tree, 60);
  const env = { GROUP_FILES: '1', PACE_MS: '5' };
  const first = await startAgent({ workspace, roots: tree, env });
  await waitForState(first.url, ({ step }) => step >= 3);
  expect((await fetch(`${first.url}/report.json`)).status).toBe(404);
  const answer = await fetch(`${first.url}/drain`, { method: 'POST' });
  const { drained, step } = (await answer.json()) as { drained: boolean; step: number };
  expect(drained).toBe(true);
  expect(await stepOnDisk()).toBe(step);
  for (let look = 0; look < 20; look += 1) {
    expect((await waitForState(first.url, () => true)).step).toBe(step);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const stoppedAt = performance.now();
  expect(await stopAgent(first.child, 'SIGTERM')).toBe(0);
  expect(performance.now() - stoppedAt).toBeLessThan(2000);

  const second = await startAgent({ workspace, roots: tree, env });
  const resumed = await waitForState(second.url, () => true);
  expect(resumed.step).toBeGreaterThanOrEqual(step);
  expect(resumed.incarnation).toBe(2);
  const { result } = await waitForState(second.url, isDone);
  expect(result?.totals.files).toBe(SPECIAL_FILES + 60);
  expect(result?.runs).toBe(2);
});

test('a drained agent that nobody stops goes on by itself', async () => {
  await makeTree(tree, 30);
  const env = { GROUP_FILES: '1', PACE_MS: '5', DRAIN_HOLD_MS: '200' };
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

test('the result stays small however long the paths are', async () => {
  const long = join(
    tree,
    ...Array.from({ length: 12 }, (_, index) => `${index}-`.padEnd(200, 'é'.repeat(120))),
  );
  await mkdir(long, { recursive: true }).catch(() => undefined);
  const deepest = (await stat(long).catch(() => undefined)) === undefined ? tree : long;
  for (let index = 0; index < 60; index += 1) {
    await writeFile(join(deepest, `setuid-${index}`), 'same');
    await chmod(join(deepest, `setuid-${index}`), 0o4755);
  }
  const { result } = await auditToTheEnd();
  expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThanOrEqual(8192);
  expect(result?.totals.setuid).toBe(60);
});

test('the verifier notices what is missing, doubled, invented or wrong', async () => {
  await makeTree(tree, 3);
  await auditToTheEnd();
  const walk = await independentWalk({ roots: [tree] });
  const spoil = async (change: (report: Report) => void) => {
    const report = await readReport();
    change(report);
    return compareReport(report, walk).filter((difference) => !difference.startsWith('totals'));
  };
  const program = join(tree, 'program');
  const find = ({ files }: Report) => files.find(({ path }) => path === program) as ReportedFile;
  const without = (report: Report) => report.files.filter(({ path }) => path !== program);

  expect(await spoil(() => {})).toEqual([]);
  expect(
    await spoil((report) => {
      report.files = without(report);
    }),
  ).toEqual([`${program}: missing from the report`]);
  expect(
    await spoil((report) => {
      report.files.push(find(report));
    }),
  ).toEqual([`${program}: counted 2 times`]);
  expect(
    await spoil((report) => {
      find(report).sha256 = '0'.repeat(64);
    }),
  ).toEqual([`${program}: wrong digest`]);
  expect(
    await spoil((report) => {
      find(report).size -= 1;
    }),
  ).toHaveLength(1);
  expect(
    await spoil((report) => {
      find(report).path = '/invented';
    }),
  ).toHaveLength(2);
  expect(
    await spoil((report) => {
      report.files = without(report);
      report.vanished.push(program);
    }),
  ).toHaveLength(1);
  expect(
    await spoil((report) => {
      report.files = without(report);
      report.unreadable.push({ path: program, unreadable: 'EACCES' });
    }),
  ).toHaveLength(1);
  const report = await readReport();
  report.totals.files = 1;
  expect(compareReport(report, walk)).toHaveLength(2);
});

test('the real /usr/bin is audited, and verified by other code', async () => {
  const { url } = await startAgent({ workspace, roots: '/bin:/usr/bin' });
  const { result } = await waitForState(url, isDone);
  const walk = await independentWalk({ roots: ['/usr/bin', '/bin'] });
  expect(compareReport(await readReport(), walk)).toEqual([]);
  expect(result?.totals.files).toBeGreaterThan(50);
});

test('the job spec is valid, and the agent small enough to travel in it', async () => {
  const jobPath = fileURLToPath(new URL('../../examples/image-audit/job.yaml', import.meta.url));
  expect(checkJobSpec(parse(await readFile(jobPath, 'utf8')))).toMatchObject({ ok: true });
  expect((await stat(AGENT_PATH)).size).toBeLessThan(20_000);
});
