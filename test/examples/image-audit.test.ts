import { createHash } from 'node:crypto';
import { chmod, chown, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { checkJobSpec } from '../../contract/job-spec.schema.js';
import { AGENT_PATH, isDone, startAgent, waitForState } from './agent-process.js';
import {
  auditToTheEnd,
  compareReport,
  folder,
  independentWalk,
  type Report,
  type ReportedFile,
  readReport,
  tree,
  useWorkspace,
  workspace,
} from './audit-workspace.js';
import { LINKS, makeTree, SPECIAL_FILES } from './made-tree.js';

/** An unprivileged user and group. */
const NOBODY = 65_534;

useWorkspace();

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

test('the result stays small however long the paths are', async () => {
  const deep = join(tree, ...Array.from({ length: 12 }, () => 'é'.repeat(100)));
  await mkdir(deep, { recursive: true });
  for (let index = 0; index < 60; index += 1) {
    await writeFile(join(deep, `setuid-${index}`), 'same');
    await chmod(join(deep, `setuid-${index}`), 0o4755);
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
