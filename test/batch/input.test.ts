import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readBatch } from '../../client/batch-file.js';
import { readItemsFile } from '../../client/batch-items.js';
import { uploadItems } from '../../client/batch-upload.js';
import type { LonghaulError } from '../../client/errors.js';
import { memoryStore } from './memory-store.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'longhaul-items-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const TEMPLATE = {
  sandbox: { image: 'test', entrypoint: ['agent', '{{item.id}}'], env: { N: '{{item.n}}' } },
};

function file(name: string, content: string): string {
  writeFileSync(join(folder, name), content);
  return name;
}

/** Checks and stores the batch; the problems where it is refused. */
async function submit(items: unknown, more: Record<string, unknown> = {}) {
  const store = memoryStore();
  const path = join(folder, 'batch.json');
  writeFileSync(path, JSON.stringify({ items, job: TEMPLATE, ...more }));
  try {
    const { upload } = await readBatch(path);
    const total = await uploadItems(store, 'batches/b/rounds/x', upload);
    return { total, store, problems: [] };
  } catch (error) {
    const { problems } = error as LonghaulError;
    return { total: 0, store, problems: problems.map(({ path: at, message }) => `${at}: ${message}`) };
  }
}

async function valuesOf(name: string, content: string): Promise<unknown[]> {
  const values: unknown[] = [];
  const read = readItemsFile(join(folder, file(name, content)));
  for await (const item of read ?? [])
    values.push('problem' in item ? [item.line, item.problem] : [item.line, item.value]);
  return values;
}

describe('items are read', () => {
  it('from JSON lines, with empty lines, a byte order mark and no end of line', async () => {
    expect(await valuesOf('a.jsonl', '\ufeff{"id":"a"}\r\n\n[1]\n"ü"')).toEqual([
      [1, { id: 'a' }],
      [3, [1]],
      [4, 'ü'],
    ]);
  });

  it('from a JSON array, with the lines of its elements', async () => {
    const text = '[\n  {"id": "a,]}", "x": [1, {"y": "\\"]"}]},\n\n  2 ,\n  "c"\n]\n';
    expect(await valuesOf('a.json', text)).toEqual([
      [2, { id: 'a,]}', x: [1, { y: '"]' }] }],
      [4, 2],
      [5, 'c'],
    ]);
    expect(await valuesOf('none.json', ' [ ] ')).toEqual([]);
    expect(await valuesOf('open.json', '[1,\n2')).toEqual([
      [1, 1],
      [2, 'the list has no end: a ] is missing'],
    ]);
    expect(await valuesOf('object.json', '{"a":1}')).toEqual([[1, 'is not a list: it must begin with [']]);
    expect(await valuesOf('hole.json', '[1,,2]')).toContainEqual([1, 'has no element']);
  });

  it('from CSV, by the names in its first line', async () => {
    expect(await valuesOf('a.csv', '\ufeffid,n\na,1\n"b,""x""",2\n')).toEqual([
      [2, { id: 'a', n: '1' }],
      [3, { id: 'b,"x"', n: '2' }],
    ]);
    const problem = (await valuesOf('bad.csv', 'id,n\na,1\nb\n')).at(-1);
    expect(problem).toEqual([3, expect.stringContaining('is not valid CSV')]);
    expect(await valuesOf('twice.csv', 'id,id\na,b\n')).toEqual([
      [1, expect.stringContaining('the column "id" is there twice')],
    ]);
  });
});

describe('a batch is refused before anything is started', () => {
  it.each([
    ['an empty file', '', ': there are no items'],
    ['a bad line', '{"id":"a","n":1}\n{"id":\n', 'line 2: is not JSON'],
    [
      'an ID that is there twice',
      '{"id":"a","n":1}\n{"id":"b","n":1}\n{"id":"a","n":2}\n',
      'line 3: has the ID "a", like line 1',
    ],
    ['a missing field', '{"id":"a","n":1}\n{"id":"b"}\n', 'line 2: sandbox.env.N: the item has no field "n"'],
    ['an ID that cannot be a name', '{"id":"a/b","n":1}\n', 'line 1: id: "a/b" cannot be an item\'s ID'],
    ['an item that is no object', '3\n', 'line 1: sandbox.entrypoint[1]: the item has no field "id"'],
    [
      'an item of 2 MB',
      `{"id":"a","n":"${'x'.repeat(2e6)}"}\n{"id":"b","n":1}\n`,
      'line 1: is longer than 1024 KiB',
    ],
    [
      'an item of 100 KB',
      `{"id":"a","n":"${'x'.repeat(1e5)}"}\n`,
      'line 1: has 98 KiB; an item may have 64 KiB',
    ],
  ])('for %s', async (_, content, problem) => {
    const { problems, store } = await submit(file('items.jsonl', content));
    expect(problems.join('\n')).toContain(problem);
    expect(store.objects.size).toBe(0);
  });

  it('for one bad line among 100,000, and says which', async () => {
    const lines = Array.from({ length: 100_000 }, (_, index) => `{"id":"i${index}","n":${index}}`);
    lines[71_234] = '{"id":"i71234","n":';
    const { problems, store } = await submit(file('many.jsonl', lines.join('\n')));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain('line 71235: is not JSON');
    expect(store.objects.size).toBe(0);
  }, 120_000);

  it('with a bounded number of problems', async () => {
    const { problems } = await submit(file('bad.jsonl', 'x\n'.repeat(1000)));
    expect(problems).toHaveLength(21);
    expect(problems.at(-1)).toContain('not looked at');
  });

  it.each([
    [{ concurrency: 0 }, 'concurrency: must be between 1 and 10000'],
    [{ concurrency: '5' }, 'concurrency: expected a whole number without quotes'],
    [{ rate: '5' }, 'rate: "5" is not a rate'],
    [{ stopAfter: '120%' }, 'stopAfter: "120%" must be'],
    [{ priority: 9 }, 'priority: must be between 1 (first) and 5 (last)'],
    [{ id: 'a/b' }, 'id: may have letters'],
    [{ concurency: 5 }, 'concurency: is not a field of a batch'],
    [{ job: { ...TEMPLATE, id: 'x' } }, 'job.id: is not allowed'],
    [{ items: 'nowhere.jsonl' }, 'items: "nowhere.jsonl" does not exist'],
  ])('for the document %j', async (more, problem) => {
    const { problems } = await submit(file('good.jsonl', '{"id":"a","n":1}'), more);
    expect(problems.join('\n')).toContain(problem);
  });

  it('for a template that breaks with one item', async () => {
    const job = { sandbox: TEMPLATE.sandbox, checkpoint: { port: '{{item.n}}' } };
    const { problems } = await submit(file('ports.jsonl', '{"id":"a","n":8000}\n{"id":"b","n":"8000"}\n'), {
      job,
    });
    expect(problems).toEqual([expect.stringContaining('line 2: checkpoint.port: expected a whole number')]);
  });
});

describe('a batch that is right', () => {
  it('is stored in pages', async () => {
    const lines = Array.from({ length: 450 }, (_, index) => `{"id":"i${index}","n":${index}}`);
    const { total, store } = await submit(file('right.jsonl', lines.join('\n')));
    expect(total).toBe(450);
    expect([...store.objects.keys()].sort()).toEqual([
      ...['000000', '000001', '000002'].map((page) => `batches/b/rounds/x/items/${page}.jsonl`),
      'batches/b/rounds/x/template.json',
    ]);
    const last =
      store.objects.get('batches/b/rounds/x/items/000002.jsonl')?.toString().trim().split('\n') ?? [];
    expect(JSON.parse(last[49] as string)).toEqual({
      index: 449,
      line: 450,
      id: 'i449',
      item: { id: 'i449', n: 449 },
    });
  });

  it('numbers items that have no ID, and makes IDs by a template', async () => {
    const job = { sandbox: { image: 'test', entrypoint: ['agent', '{{item}}'] } };
    const numbered = await submit(['x', 'y'], { job });
    expect(numbered.store.objects.get('batches/b/rounds/x/items/000000.jsonl')?.toString()).toContain(
      '"id":"2"',
    );
    const named = await submit([{ city: 'oslo', n: 1 }], { job, itemId: 'city-{{item.city}}' });
    expect(named.store.objects.get('batches/b/rounds/x/items/000000.jsonl')?.toString()).toContain(
      '"id":"city-oslo"',
    );
  });

  it('takes the contents of files along', async () => {
    file('agent.mjs', 'console.log("{{item.n}}")');
    const files = [{ path: '/workspace/agent.mjs', from: 'agent.mjs' }];
    const { store, problems } = await submit([{ id: 'a', n: 1 }], {
      job: { sandbox: { ...TEMPLATE.sandbox, files } },
    });
    expect(problems).toEqual([]);
    expect(store.objects.get('batches/b/rounds/x/template.json')?.toString()).toContain('console.log');
    const { problems: refused } = await submit([{ id: 'a', n: 1 }], {
      job: { sandbox: { ...TEMPLATE.sandbox, files: [{ path: '/workspace/x', from: '{{item.id}}.txt' }] } },
    });
    expect(refused.join()).toContain('cannot differ from item to item');
  });
});
