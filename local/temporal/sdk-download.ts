/**
 * The download that Temporal's SDK has built in. It has no call of its own: the SDK downloads what it starts.
 * So it is started for a moment, in another process: the SDK's runtime would stay in this one and take over
 * its signals.
 */

import { readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type Environment, run } from './run.js';

/** 50 MB over a slow line; a firewall that swallows packets must not cost more than that. */
const TIMEOUT_MS = 5 * 60_000;

const SCRIPT = `
  const [testing, create, downloadDir, version] = process.argv.slice(1);
  const executable = { type: 'cached-download', downloadDir, version };
  require(testing).TestWorkflowEnvironment[create]({ server: { executable } })
    .then((environment) => environment.teardown())
    .then(() => process.exit(0), (error) => { console.error(error.message); process.exit(1); });
`;

export interface SdkDownload {
  readonly kind: 'dev-server' | 'time-skipping';
  /** Tag of a release, e.g. `v1.5.1`. */
  readonly version: string;
  readonly env: Environment;
}

/**
 * @returns path of the binary in the folder.
 * @throws Error with the SDK's reason.
 */
export async function downloadBySdk(folder: string, { kind, version, env }: SdkDownload): Promise<string> {
  const create = kind === 'dev-server' ? 'createLocal' : 'createTimeSkipping';
  const failure = await run(process.execPath, ['-e', SCRIPT, locateTesting(), create, folder, version], {
    env,
    timeoutMs: TIMEOUT_MS,
  }).then(
    () => new Error('the SDK left no file'),
    (error: Error) => error,
  );
  // Whole as soon as it has this name. That it did not answer within the SDK's 5 seconds is no reason to drop it.
  const name = (await readdir(folder)).find((each) => each.endsWith(`-${version}`));
  if (name === undefined) throw failure;
  return join(folder, name);
}

function locateTesting(): string {
  try {
    return createRequire(import.meta.url).resolve('@temporalio/testing');
  } catch {
    throw new Error('@temporalio/testing is not installed');
  }
}
