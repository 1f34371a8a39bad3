import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  endProcess,
  hasStatus,
  post,
  readState,
  useWorkspace,
  waitForState,
  workspace,
} from '../agent/kit-process.js';
import { prepareExample } from './example-process.js';

useWorkspace();

/** A tree of made files below the workspace, `count` of them of each kind. */
async function makeTree(count: number): Promise<string> {
  const tree = join(workspace, 'tree');
  await mkdir(join(tree, 'inner'), { recursive: true });
  for (let index = 0; index < count; index += 1) {
    const code = `class C${index}:\n    def f(self):\n        return ${index}\n`.repeat(1 + (index % 7));
    await writeFile(join(tree, `inner/module_${index}.py`), code);
    await writeFile(join(tree, `text ${index}.txt`), 'same '.repeat(1 + (index % 3)));
  }
  return tree;
}

test('python-agent counts every file exactly once, however often it is killed', async () => {
  const tree = await makeTree(400);
  const { start } = await prepareExample('python-agent');
  const env = { ROOT: tree, PACE: '0.1' };
  let reached = 0;
  for (const [kill, signal] of (['SIGKILL', 'SIGTERM', 'SIGKILL', 'SIGTERM'] as const).entries()) {
    const { child, url } = await start(env);
    await waitForState(url, ({ step = 0 }) => step > reached);
    if (signal === 'SIGTERM') await post(url, '/drain', {}, { 'longhaul-incarnation': String(kill + 1) });
    await endProcess(child, signal);
    reached = JSON.parse(await readFile(join(workspace, '.longhaul/agent.json'), 'utf8')).checkpoint.step;
    expect(reached).toBeLessThan(400);
  }
  const { url } = await start({ ...env, PACE: '0' });
  const { result, step } = await waitForState(url, hasStatus('done'));

  const totals = { files: 0, lines: 0, functions: 0, classes: 0, broken: 0, digest: '' };
  for (const name of (await readdir(join(tree, 'inner'))).sort()) {
    const path = join(tree, 'inner', name);
    const source = await readFile(path);
    const blocks = source.toString().split('class').length - 1;
    totals.files += 1;
    totals.lines += 3 * blocks;
    totals.functions += blocks;
    totals.classes += blocks;
    totals.digest = createHash('sha256')
      .update(totals.digest + path)
      .update(source)
      .digest('hex');
  }
  expect(result).toEqual({ ...totals, root: tree, starts: 5 });
  expect(step).toBe(400);
});

test('python-agent measures the real standard library', async () => {
  const { start } = await prepareExample('python-agent');
  const email = execFileSync('python3', ['-c', 'import email; print(email.__path__[0])'], {
    encoding: 'utf8',
  });
  const { url } = await start({ PACE: '0', ROOT: email.trim() });
  const { result } = await waitForState(url, hasStatus('done'));
  expect(result).toMatchObject({ broken: 0, starts: 1 });
  expect((result as { functions: number }).functions).toBeGreaterThan(200);
});

test('wrapped-pipeline goes on with the parts that were finished, and hands over the result', async () => {
  const tree = await makeTree(900);
  const { start } = await prepareExample('wrapped-pipeline');
  const env = { ROOTS: tree, PART_FILES: '50', PACE: '0.2' };
  const first = await start(env);
  const { progress } = await waitForState(first.url, ({ message }) => message !== undefined);
  expect(progress).toBeGreaterThan(0);
  await post(first.url, '/drain');
  expect(await endProcess(first.child, 'SIGTERM')).toBe(0);
  const finished = (await readdir(join(workspace, 'parts'))).filter((name) => name.endsWith('.sums'));
  expect(finished.length).toBeGreaterThan(0);
  expect(finished.length).toBeLessThan(36);
  const madeAt = async (name: string) => (await stat(join(workspace, 'parts', name))).mtimeMs;
  const madeBefore = await Promise.all(finished.map(madeAt));

  const { url } = await start({ ...env, PACE: '0' });
  const state = await waitForState(url, hasStatus('done'));
  // 900 texts of three sizes, and as many modules that each differ.
  expect(state).toMatchObject({ incarnation: 2, progress: 1, result: { files: 1800, distinct: 903 } });
  expect(state.message).toContain('36/36 parts');
  expect(await Promise.all(finished.map(madeAt))).toEqual(madeBefore);
});

test('asks-a-person asks with a schema, and goes on with the answer that came while its process was gone', async () => {
  const tree = await makeTree(30);
  const { start } = await prepareExample('asks-a-person');
  const first = await start({ ROOT: tree });
  const { question, step } = await waitForState(first.url, hasStatus('waiting'));
  expect(step).toBe(1);
  expect(question).toMatchObject({
    id: 'which-kind',
    schema: { properties: { kind: { enum: ['.py', '.txt'] } }, required: ['kind'] },
  });
  await post(first.url, '/drain');
  await endProcess(first.child, 'SIGTERM');

  // What is found later does not change the question.
  await writeFile(join(tree, 'new.log'), 'x'.repeat(100_000));
  const second = await start({ ROOT: tree });
  expect(await readState(second.url)).toMatchObject({ status: 'waiting', question });
  const input = { id: 'answer', question: 'which-kind', value: { kind: '.py', count: 3 } };
  expect((await post(second.url, '/input', input)).status).toBe(200);
  const state = await waitForState(second.url, hasStatus('done'));
  expect(state).toMatchObject({ inputId: 'answer', result: { kind: '.py', starts: 2 } });
  const { largest } = state.result as { largest: { path: string; size: number }[] };
  expect(largest).toHaveLength(3);
  expect(new Set(largest.map(({ size }) => size)).size).toBe(1);
  expect(largest[0]?.path).toMatch(/module_\d+\.py$/);
});

test('sleeps-until sleeps over a restart until the date that it reckoned first', async () => {
  const { start } = await prepareExample('sleeps-until');
  const first = await start({ SLEEP_MINUTES: '0.05' });
  const { wakeAt = '' } = await waitForState(first.url, hasStatus('sleeping'));
  await endProcess(first.child, 'SIGTERM');
  const second = await start({ SLEEP_MINUTES: '60' });
  const { result } = await waitForState(second.url, hasStatus('done'));
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(wakeAt));
  expect(result).toMatchObject({ starts: 2 });
  expect((result as { sleptSeconds: number }).sleptSeconds).toBeGreaterThanOrEqual(3);
});

test('sleeps-until takes a date, with its zone', async () => {
  const { start } = await prepareExample('sleeps-until');
  const { url } = await start({ WAKE_AT: '2001-01-01T08:00:00+01:00' });
  const { result } = await waitForState(url, hasStatus('done'));
  expect(result).toMatchObject({ wakeAt: '2001-01-01T08:00:00+01:00', starts: 1 });
});
