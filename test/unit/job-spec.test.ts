import { describe, expect, it } from 'vitest';
import { DEFAULT_SETTINGS } from '../../contract/job-settings.js';
import { checkJobSpec, toJobSpec } from '../../contract/job-spec.schema.js';

const minimal = { sandbox: { image: 'python:3.12-slim', entrypoint: ['python3', 'agent.py'] } };

function problemsOf(source: unknown): string[] {
  const checked = checkJobSpec(source);
  return checked.ok ? [] : checked.problems.map(({ path, message }) => `${path}: ${message}`);
}

describe('a job spec', () => {
  it('needs only an image and an entrypoint', () => {
    const checked = checkJobSpec(minimal);
    if (!checked.ok) throw new Error(problemsOf(minimal).join('\n'));
    expect(toJobSpec(checked.value, [])).toEqual({
      id: null,
      sandbox: {
        image: 'python:3.12-slim',
        entrypoint: ['python3', 'agent.py'],
        env: {},
        files: [],
        resources: { cpu: '1', memory: '512Mi' },
        persistence: { storageClass: 'local-path', size: '5Gi' },
      },
      checkpoint: { port: 8000, path: 'state.json', everyMs: 5000, stallAfterMs: 900_000 },
      drain: null,
      input: null,
      settings: DEFAULT_SETTINGS,
    });
  });

  it('can do without persistence', () => {
    const checked = checkJobSpec({ sandbox: { ...minimal.sandbox, persistence: false } });
    expect(checked.ok && toJobSpec(checked.value, []).sandbox.persistence).toBeNull();
  });

  it('has the contents of its files in their order', () => {
    const files = [
      { path: '/workspace/a', from: './a' },
      { path: '/workspace/b', content: 'B' },
    ];
    const checked = checkJobSpec({ sandbox: { ...minimal.sandbox, files } });
    expect(checked.ok && toJobSpec(checked.value, ['A', 'B']).sandbox.files).toEqual([
      { path: '/workspace/a', content: 'A' },
      { path: '/workspace/b', content: 'B' },
    ]);
  });

  it('names every problem with its path, not only the first', () => {
    const source = {
      colour: 'red',
      sandbox: {
        entrypoint: [],
        env: { A: 3, '1x': '' },
        resources: { cpu: 1, memory: '512m' },
        persistence: true,
      },
      checkpoint: { port: 0, every: 2, stallAfter: '1y' },
    };
    expect(problemsOf(source)).toEqual([
      'sandbox.image: is missing',
      'sandbox.entrypoint: needs at least the program to start',
      'sandbox.env.A: expected a string; write numbers in quotes',
      'sandbox.env.1x: is not a name for an environment variable',
      'sandbox.resources.cpu: expected a CPU quantity in quotes such as "1" or "500m"',
      'sandbox.resources.memory: "512m" is not a size; write e.g. "512Mi" or "5Gi"; "m" means thousandths here, did you mean "512Mi"?',
      'sandbox.persistence: expected false, or an object such as { storageClass: local-path, size: 5Gi }',
      'checkpoint.port: must be between 1 and 65535',
      'checkpoint.every: expected a duration such as "2s" or "15m"',
      'checkpoint.stallAfter: "1y" is not a duration; write e.g. "500ms", "2s", "15m", "6h"',
      'colour: is not a field of a job spec',
    ]);
  });

  it.each([
    ['nothing', null],
    ['a list', []],
    ['a string', 'job'],
  ])('is refused when it is %s', (_, source) => {
    expect(problemsOf(source)).toHaveLength(1);
  });

  it.each([
    ['sandbox.files[0].path', { path: '/etc/passwd', content: '' }],
    ['sandbox.files[0].path', { path: '/workspace/../etc/passwd', content: '' }],
    ['sandbox.files[0].path', { path: '/workspace/', content: '' }],
    ['sandbox.files[0]', { path: '/workspace/a' }],
    ['sandbox.files[0]', { path: '/workspace/a', from: 'a', content: 'a' }],
    ['sandbox.files[0].content', { path: '/workspace/a', content: 'a\0b' }],
  ])('refuses a file that cannot be carried: %s %j', (path, file) => {
    const problems = problemsOf({ sandbox: { ...minimal.sandbox, files: [file] } });
    expect(problems.map((problem) => problem.split(': ')[0])).toEqual([path]);
  });

  it('refuses the same file twice', () => {
    const file = { path: '/workspace/a', content: '' };
    expect(problemsOf({ sandbox: { ...minimal.sandbox, files: [file, file] } })).toEqual([
      'sandbox.files[1].path: "/workspace/a" is there twice',
    ]);
  });

  it('refuses names of variables that Longhaul sets itself', () => {
    expect(problemsOf({ sandbox: { ...minimal.sandbox, env: { LONGHAUL_INCARNATION: '1' } } })).toEqual([
      'sandbox.env.LONGHAUL_INCARNATION: is reserved: names that begin with LONGHAUL_ are set by Longhaul itself',
    ]);
  });

  it.each(['../x', 'http://elsewhere/state.json', 'a b', ''])(
    'refuses %j as the path of a checkpoint',
    (path) => {
      expect(problemsOf({ ...minimal, checkpoint: { path } })).toEqual([
        'checkpoint.path: must be a plain path such as "state.json"',
      ]);
    },
  );

  it('refuses a stall time that one slow read would exceed', () => {
    expect(problemsOf({ ...minimal, checkpoint: { every: '10m', stallAfter: '15m' } })).toEqual([
      'checkpoint.stallAfter: must be at least twice as long as checkpoint.every',
    ]);
  });

  it.each(['has space', '-begins', 'ümlaut', 'x'.repeat(201), ''])('refuses the ID %j', (id) => {
    expect(problemsOf({ ...minimal, id })).toHaveLength(1);
  });
});
