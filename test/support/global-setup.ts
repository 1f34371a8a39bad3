/** Once per run: the workflow bundle, made from the sources with the real bundler, and the servers' binaries. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';
import type { TestProject } from 'vitest/node';
import { cacheDir } from '../../local/folders.js';
import { findTemporalCli, findTestServer } from '../../local/temporal/index.js';

declare module 'vitest' {
  export interface ProvidedContext {
    workflowBundle: string;
    temporalCli: string;
    testServer: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-tests-'));
  const bundle = join(folder, 'workflow-bundle.js');
  const { code } = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../../workflows/index.ts', import.meta.url)),
    logger: { log() {}, trace() {}, debug() {}, info() {}, warn: console.warn, error: console.error },
  });
  await writeFile(bundle, code);
  project.provide('workflowBundle', bundle);

  const found = {
    cacheDir: cacheDir(process.env),
    env: process.env,
    log: (line: string) => console.error(line),
  };
  project.provide('temporalCli', (await findTemporalCli(found)).path);
  project.provide('testServer', (await findTestServer(found)).path);
  return () => rm(folder, { recursive: true, force: true });
}
