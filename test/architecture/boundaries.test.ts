/** Who may import whom. The table is the rule; docs/architecture.md tells the reasons. */

import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join, relative, resolve } from 'node:path';
import { bundleWorkflowCode } from '@temporalio/worker';
import { describe, expect, inject, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');

interface Rule {
  /** Other top-level folders of the project. */
  readonly folders: readonly string[];
  /** npm packages; a trailing `*` stands for any rest. */
  readonly packages: readonly string[];
  readonly node: boolean;
  /** Folders from which only types may come, or which are loaded lazily by `await import`. */
  readonly lazily?: readonly string[];
}

const RULES: Record<string, Rule> = {
  contract: { folders: [], packages: [], node: false },
  calendar: { folders: ['contract'], packages: ['moment-timezone'], node: true },
  agent: { folders: [], packages: [], node: true },
  store: { folders: ['contract'], packages: ['@aws-sdk/client-s3'], node: true },
  workflows: { folders: ['contract'], packages: ['@temporalio/workflow'], node: false },
  activities: {
    folders: ['contract', 'calendar', 'store'],
    packages: [
      '@temporalio/activity',
      '@temporalio/common',
      'undici',
      'zod',
      '@cfworker/json-schema',
      '@temporalio/client',
    ],
    node: true,
  },
  workers: {
    folders: ['contract', 'activities', 'calendar', 'store'],
    packages: [
      '@temporalio/worker',
      '@temporalio/activity',
      '@temporalio/client',
      'pino',
      'pino-pretty',
      'zod',
    ],
    node: true,
  },
  client: {
    folders: ['contract', 'calendar', 'store'],
    packages: [
      '@temporalio/client',
      '@temporalio/common',
      '@temporalio/envconfig',
      'undici',
      'yaml',
      'csv-parse',
      'commander',
      'picocolors',
      'zod',
    ],
    node: true,
    lazily: ['local', 'workers'],
  },
  conformance: { folders: ['activities'], packages: ['undici', 'picocolors'], node: true },
  chaos: {
    folders: ['contract', 'client', 'local'],
    packages: ['commander', '@temporalio/client'],
    node: true,
  },
  local: {
    folders: ['contract'],
    packages: ['@temporalio/client', '@temporalio/testing', 'zod'],
    node: true,
  },
};

interface Import {
  readonly file: string;
  readonly source: string;
  readonly lazy: boolean;
}

function sourceFiles(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(ROOT, folder, file));
}

function importsOf(file: string): Import[] {
  const text = readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
  const statics = [...text.matchAll(/^(?:import|export)\s(type\s)?[^;'"]*?from\s+['"]([^'"]+)['"]/gm)];
  const sideEffects = [...text.matchAll(/^import\s+['"]([^'"]+)['"]/gm)];
  const dynamic = [...text.matchAll(/\bimport\(\s*['"]([^'"]+)['"]/g)];
  return [
    ...statics.map(([, type, source]) => ({ file, source: source as string, lazy: type !== undefined })),
    ...sideEffects.map(([, source]) => ({ file, source: source as string, lazy: false })),
    ...dynamic.map(([, source]) => ({ file, source: source as string, lazy: true })),
  ];
}

function isAllowed({ file, source, lazy }: Import, folder: string, rule: Rule): boolean {
  if (source.startsWith('.')) {
    const target = relative(ROOT, resolve(file, '..', source)).split('/')[0] as string;
    return (
      target === folder ||
      rule.folders.includes(target) ||
      (lazy && (rule.lazily ?? []).includes(target)) ||
      // Whether a time zone exists is for the calendar to say.
      (isSchema(file, folder) && target === 'calendar')
    );
  }
  if (source.startsWith('node:')) return rule.node;
  if (builtinModules.includes(source)) return false;
  // Schema files are the one place of the contract that may check, and so need zod.
  if (isSchema(file, folder)) return source === 'zod';
  return rule.packages.includes(source);
}

function isSchema(file: string, folder: string): boolean {
  return folder === 'contract' && file.endsWith('.schema.ts');
}

describe('import boundaries', () => {
  it.each(Object.entries(RULES))('%s imports only what it may', (folder, rule) => {
    const forbidden = sourceFiles(folder)
      .flatMap(importsOf)
      .filter((each) => !isAllowed(each, folder, rule))
      .map(({ file, source }) => `${relative(ROOT, file)} imports ${source}`);
    expect(forbidden).toEqual([]);
  });

  it('keeps zod and the rest of npm out of the workflow bundle', () => {
    const bundle = readFileSync(inject('workflowBundle'), 'utf8');
    const modules = [...bundle.matchAll(/node_modules\/((?:@[^/]+\/)?[^/]+)\//g)].map(([, name]) => name);
    const others = new Set(modules.filter((name) => !name?.startsWith('@temporalio/')));
    expect(
      [...others].filter((name) => ['zod', 'undici', 'pino', 'yaml', 'commander'].includes(name as string)),
    ).toEqual([]);
  });

  it('is held up by the bundler itself, which refuses what is not deterministic', async () => {
    const said: string[] = [];
    const keep = (message: string) => void said.push(message);
    const bundling = bundleWorkflowCode({
      workflowsPath: resolve(import.meta.dirname, 'nondeterministic-workflow.ts'),
      logger: { log() {}, trace() {}, debug() {}, info() {}, warn: keep, error: keep },
    });
    await expect(bundling).rejects.toThrow();
    expect(said.join('\n')).toContain('node:fs');
  });
});
