import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LonghaulError } from '../../client/errors.js';
import { checkSpec, readSpecFile } from '../../client/spec-file.js';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longhaul-spec-'));
  await mkdir(join(folder, 'sub'));
  await writeFile(join(folder, 'sub', 'agent.mjs'), 'console.log("ä")\n');
  await writeFile(join(folder, 'binary'), Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0]));
  await writeFile(join(folder, 'latin1'), Buffer.from([0x61, 0xe4, 0x62]));
  await writeFile(join(folder, 'forty'), 'x'.repeat(40 * 1024));
  await writeFile(join(folder, 'seventy'), 'x'.repeat(70 * 1024));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

async function specFile(text: string, name = 'job.yaml'): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

async function problemsOf(promise: Promise<unknown>): Promise<string[]> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(LonghaulError);
  expect(error).toMatchObject({ code: 'SPEC_INVALID' });
  return (error as LonghaulError).problems.map(({ path, message }) => `${path}: ${message}`);
}

const withFiles = (files: unknown) =>
  `sandbox: { image: a, entrypoint: [x], files: ${JSON.stringify(files)} }\n`;

describe('a spec file', () => {
  it('reads files relative to its own folder', async () => {
    const path = await specFile(
      withFiles([{ path: '/workspace/agent.mjs', from: './agent.mjs' }]),
      'sub/job.yaml',
    );
    const spec = await readSpecFile(path);
    expect(spec.sandbox.files).toEqual([{ path: '/workspace/agent.mjs', content: 'console.log("ä")\n' }]);
  });

  it('may be JSON, indented by tabs', async () => {
    const path = await specFile(
      '{\n\t"sandbox": {\n\t\t"image": "a",\n\t\t"entrypoint": ["x"]\n\t}\n}',
      'job.json',
    );
    expect((await readSpecFile(path)).sandbox.image).toBe('a');
  });

  it.each([
    ['missing', 'does not exist'],
    ['sub', 'is not a file'],
    ['binary', 'is not a text file: it contains a NUL byte'],
    ['latin1', 'is not a text file: it is not valid UTF-8'],
    ['seventy', 'is larger than 64 KiB'],
  ])('names the file that cannot be carried: %s', async (from, why) => {
    const path = await specFile(withFiles([{ path: '/workspace/a', from }]));
    expect(await problemsOf(readSpecFile(path))).toEqual([`sandbox.files[0].from: "${from}" ${why}`]);
  });

  it('names the file with which they become too large together', async () => {
    const files = [
      { path: '/workspace/a', from: 'forty' },
      { path: '/workspace/b', content: 'y'.repeat(30 * 1024) },
      { path: '/workspace/c', from: 'forty' },
    ];
    const [problem, ...others] = await problemsOf(readSpecFile(await specFile(withFiles(files))));
    expect(problem).toMatch(/^sandbox\.files\[1\]\.content: with this one the files are larger than 64 KiB/);
    expect(others).toEqual([]);
  });

  it('tells line and column of a syntax error', async () => {
    const path = await specFile('sandbox:\n  image: a\n  entrypoint: [x\n');
    expect((await problemsOf(readSpecFile(path)))[0]).toMatch(/^: line \d+, column \d+: /);
  });

  it.each([
    [
      'a key that is there twice',
      'sandbox: { image: a, image: b, entrypoint: [x] }',
      /line 1, column \d+: .*unique/,
    ],
    ['a tag that nobody knows', 'sandbox: !mine { image: a, entrypoint: [x] }', /line 1, column \d+: .*tag/i],
    ['several documents', 'id: a\n---\nid: b\n', /several YAML documents/],
    ['an empty file', '', /is empty/],
    ['a file of comments', '# nothing\n', /: expected object|is missing|is empty/],
    ['aliases without end', `a: &a [x,x]\nb: &b [${'*a,'.repeat(60)}]\nc: [${'*b,'.repeat(60)}]`, /alias/i],
    ['a text', 'just words', /expected object/],
  ])('refuses %s', async (_, text, expected) => {
    expect((await problemsOf(readSpecFile(await specFile(text)))).join('\n')).toMatch(expected);
  });

  it('names itself when it is missing', async () => {
    const path = join(folder, 'nowhere.yaml');
    expect(await problemsOf(readSpecFile(path))).toEqual([': does not exist']);
    await expect(readSpecFile(path)).rejects.toMatchObject({ file: path });
  });

  it('names every problem at once, with its path', async () => {
    const path = await specFile('id: "/"\nsandbox: { image: "a b", entrypoint: [], cpu: 2 }\n');
    const problems = (await problemsOf(readSpecFile(path))).map((problem) => problem.split(':')[0]);
    expect(problems.sort()).toEqual(['id', 'sandbox.cpu', 'sandbox.entrypoint', 'sandbox.image']);
  });
});

describe('a spec of a program', () => {
  it('is checked in the same way', async () => {
    expect(await problemsOf(checkSpec({ sandbox: { image: 3 } }, folder))).toHaveLength(2);
    const files = [{ path: '/workspace/a', from: 'sub/agent.mjs' }];
    const spec = await checkSpec({ sandbox: { image: 'a', entrypoint: ['x'], files } }, folder);
    expect(spec.sandbox.files[0]?.content).toContain('ä');
  });
});
