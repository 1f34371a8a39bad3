/** A real S3-compatible server for tests: Versity's gateway over a temporary folder, built once with Go and kept. */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cacheDir } from '../../local/folders.js';
import { freePort } from '../../local/ports.js';
import { cachedBinary } from '../../local/temporal/cached-binary.js';
import { allOnPath, isExecutableFile, run } from '../../local/temporal/run.js';

const VERSION = '1.8.0';
const MODULE = `github.com/versity/versitygw/cmd/versitygw@v${VERSION}`;
const CHECK_TIMEOUT_MS = 30_000;
const READY_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 5_000;
const START_ATTEMPTS = 5;

export interface S3Server {
  readonly url: string;
  readonly bucket: string;
  /** What a user of it would have set. */
  readonly env: Readonly<Record<string, string>>;
  /** Cuts all connections, and takes no new ones. */
  stop(): Promise<void>;
}

/** `null` where there is neither the server nor Go to build it; then it says so. */
export async function findS3Server(): Promise<string | null> {
  const folder = join(cacheDir(process.env), `versitygw-${VERSION}`);
  const path = join(folder, 'versitygw');
  if (!(await isExecutableFile(path)) && (await allOnPath('go', process.env)).length === 0) {
    console.warn(
      'The tests of stores in S3 are skipped: their server is built with Go, which is not on PATH.',
    );
    return null;
  }
  const found = await cachedBinary({
    path,
    check: (binary) => run(binary, ['--version'], { env: process.env, timeoutMs: CHECK_TIMEOUT_MS }),
    log: (line) => console.error(line),
    makers: [
      {
        source: 'go-build',
        name: `go install ${MODULE}`,
        announcement: `The S3 server of the tests is not on this machine; building it once with Go — 1–5 minutes, kept in ${folder}`,
        doing: 'building the S3 server of the tests',
        make: async (into) => {
          await run('go', ['install', MODULE], { env: { ...process.env, GOBIN: into } });
          return join(into, 'versitygw');
        },
      },
    ],
  });
  return found.path;
}

/** It has one bucket, and runs until it is stopped. */
export async function startS3Server(binary: string): Promise<S3Server> {
  const root = await mkdtemp(join(tmpdir(), 'longhaul-s3-'));
  const bucket = 'longhaul-tests';
  await mkdir(join(root, 'data', bucket), { recursive: true });
  const env = {
    AWS_ACCESS_KEY_ID: 'tests',
    AWS_SECRET_ACCESS_KEY: 'CANARY-s3-secret',
    AWS_REGION: 'us-east-1',
  };
  const { server, url } = await startOnSomePort(binary, root, env);
  return {
    url,
    bucket,
    env: { ...env, AWS_ENDPOINT_URL_S3: url },
    async stop() {
      await kill(server);
      await rm(root, { recursive: true, force: true });
    },
  };
}

/** A free port may be taken before the server has it; then it is another one. */
async function startOnSomePort(binary: string, root: string, env: Record<string, string>) {
  for (let attempt = 1; ; attempt += 1) {
    const address = `127.0.0.1:${await freePort()}`;
    const server = spawn(binary, ['--port', address, '--quiet', 'posix', join(root, 'data')], {
      env: {
        ...process.env,
        ROOT_ACCESS_KEY: env.AWS_ACCESS_KEY_ID,
        ROOT_SECRET_KEY: env.AWS_SECRET_ACCESS_KEY,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const said: string[] = [];
    server.stderr.on('data', (chunk) => said.push(String(chunk)));
    process.once('exit', () => server.kill('SIGKILL'));
    if (await answers(server, `http://${address}`)) return { server, url: `http://${address}` };
    await kill(server);
    if (attempt === START_ATTEMPTS) throw new Error(`The S3 server does not start: ${said.join('')}`);
  }
}

async function answers(server: ChildProcess, url: string): Promise<boolean> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  while (Date.now() < deadline && server.exitCode === null) {
    // It refuses whoever has no signature, but it is there.
    const answer = await fetch(url).catch(() => null);
    await answer?.body?.cancel();
    if (answer !== null) return server.exitCode === null;
    await sleep(50);
  }
  return false;
}

async function kill(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = new Promise((resolve) => server.once('exit', resolve));
  server.kill('SIGKILL');
  await Promise.race([ended, sleep(STOP_TIMEOUT_MS)]);
}
