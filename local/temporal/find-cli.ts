/** The `temporal` command, which has the dev server in it. */

import { join } from 'node:path';
import { type FindOptions, findOrMake } from './finding.js';
import { type Environment, run } from './run.js';
import { downloadBySdk } from './sdk-download.js';

/** The newest that `go install` can build: later ones have a `replace` in their go.mod. */
const VERSION = '1.5.1';
const MODULE = `github.com/temporalio/cli/cmd/temporal@v${VERSION}`;
/** Takes 0.3 s; a machine that is busy starting everything at once may need much longer. */
const CHECK_TIMEOUT_MS = 30_000;

export interface FoundCli {
  /** Absolute. */
  readonly path: string;
  readonly source: 'path' | 'cache' | 'sdk-download' | 'go-build';
}

/**
 * On PATH, if it runs; else kept in `<cacheDir>/temporal-cli-<version>/`; else downloaded by Temporal's SDK; else
 * built with Go, which takes minutes. What was downloaded or built is kept.
 * @throws TemporalUnavailableError
 */
export function findTemporalCli({ cacheDir, env, log }: FindOptions): Promise<FoundCli> {
  const folder = join(cacheDir, `temporal-cli-${VERSION}`);
  return findOrMake({
    what: "Temporal's dev server (the temporal command)",
    command: 'temporal',
    path: join(folder, 'temporal'),
    env,
    log,
    check: (path) => checkVersion(path, env),
    makers: [
      {
        source: 'sdk-download',
        name: "download by Temporal's SDK",
        announcement: `Temporal's dev server is not on this machine; downloading it once — about 50 MB, kept in ${folder}`,
        doing: "downloading Temporal's dev server",
        make: (into) => downloadBySdk(into, { kind: 'dev-server', version: `v${VERSION}`, env }),
      },
      {
        source: 'go-build',
        name: `go install ${MODULE}`,
        announcement: `Temporal's dev server is not on this machine; building it once with Go — about 3–4 minutes, kept in ${folder}`,
        doing: "building Temporal's dev server",
        make: async (into) => {
          await run('go', ['install', MODULE], { env: { ...env, GOBIN: into } });
          return join(into, 'temporal');
        },
      },
    ],
    remedies: [
      'install the temporal command (https://docs.temporal.io/cli) and have it on PATH',
      'set TEMPORAL_ADDRESS to the address of a Temporal service that runs already',
      'install Go 1.24 or later (https://go.dev/dl), with which it is built here',
    ],
  });
}

async function checkVersion(path: string, env: Environment): Promise<void> {
  const said = await run(path, ['--version'], { env, timeoutMs: CHECK_TIMEOUT_MS });
  if (!said.startsWith('temporal version')) throw new Error('it is not the command of temporal.io');
}
