/** An example as its job.yaml says: its files in a temporary folder that stands for /workspace, its entrypoint run. */

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { parse } from 'yaml';
import type { JobSpec } from '../../contract/job-spec.js';
import { checkJobSpec, FILES_MAX_BYTES, toJobSpec } from '../../contract/job-spec.schema.js';
import { type StartedAgent, startAgent, workspace } from '../agent/kit-process.js';

const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url));

/** The checked spec of an example, with its files read. */
export async function readExample(name: string): Promise<JobSpec> {
  const folder = join(EXAMPLES, name);
  const checked = checkJobSpec(parse(await readFile(join(folder, 'job.yaml'), 'utf8')));
  if (!checked.ok) throw new Error(`${name}/job.yaml: ${JSON.stringify(checked.problems)}`);
  const contents = await Promise.all(
    checked.value.sandbox.files.map(({ from }) => readFile(resolve(folder, from as string), 'utf8')),
  );
  expect(Buffer.byteLength(contents.join(''))).toBeLessThan(FILES_MAX_BYTES / 2);
  return toJobSpec(checked.value, contents);
}

export interface Example {
  /** Starts the example's agent on the workspace of the test, and waits until it serves. */
  readonly start: (env?: Readonly<Record<string, string>>) => Promise<StartedAgent>;
}

/** Puts the files of an example into the workspace of the test. */
export async function prepareExample(name: string): Promise<Example> {
  const { sandbox } = await readExample(name);
  const inWorkspace = (text: string) => text.replace(/^\/workspace(?=\/|$)/, workspace);
  for (const { path, content } of sandbox.files) {
    await mkdir(dirname(inWorkspace(path)), { recursive: true });
    await writeFile(inWorkspace(path), content);
  }
  return {
    start: (env = {}) => startAgent(sandbox.entrypoint.map(inWorkspace), { ...sandbox.env, ...env }),
  };
}
