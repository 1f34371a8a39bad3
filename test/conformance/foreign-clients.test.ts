/**
 * The SDKs that others write for OpenSandbox, against the local server: from create to kill, with commands and files,
 * by the gateway and through the API server. They are fetched from their registries for it.
 */

import { execFile } from 'node:child_process';
import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { API_KEY, startTestServer, type TestServer, temporaryFolder } from '../sandbox-server/support.js';

const run = promisify(execFile);
const INSTALL_TIMEOUT_MS = 90_000;
const RUN_TIMEOUT_MS = 100_000;
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));

interface ForeignClient {
  readonly name: string;
  readonly install: (folder: string) => Promise<unknown>;
  readonly command: (folder: string) => readonly [program: string, script: string];
}

const CLIENTS: readonly ForeignClient[] = [
  {
    name: 'Python, opensandbox 1.1.1',
    async install(folder) {
      await run('python3', ['-m', 'venv', folder], { timeout: INSTALL_TIMEOUT_MS });
      const pip = ['-m', 'pip', 'install', '--quiet', '--retries', '0', 'opensandbox==1.1.1'];
      await run(join(folder, 'bin/python'), pip, { timeout: INSTALL_TIMEOUT_MS });
    },
    command: (folder) => [join(folder, 'bin/python'), here('foreign-client.py')],
  },
  {
    name: 'npm, @alibaba-group/opensandbox 0.1.11',
    async install(folder) {
      writeFileSync(join(folder, 'package.json'), '{"type":"module","private":true}');
      const npm = [
        'install',
        '--no-audit',
        '--no-fund',
        '--fetch-retries=0',
        '@alibaba-group/opensandbox@0.1.11',
      ];
      await run('npm', npm, { cwd: folder, timeout: INSTALL_TIMEOUT_MS });
      // It is found from where the program lies.
      copyFileSync(here('foreign-client.mjs'), join(folder, 'foreign-client.mjs'));
    },
    command: (folder) => [process.execPath, join(folder, 'foreign-client.mjs')],
  },
];

interface Step {
  readonly step: string;
  readonly error: string | null;
}

describe.each(CLIENTS)('$name', ({ name, install, command }) => {
  const folder = temporaryFolder();
  let server: TestServer | undefined;
  let missing: string | null = null;
  beforeAll(async () => {
    server = await startTestServer();
    await install(folder).catch((error: Error) => {
      missing = `${name} cannot be installed here: ${error.message.split('\n')[0]}`;
      console.warn(`NOT TESTED: ${missing}`);
    });
  }, 2 * INSTALL_TIMEOUT_MS);
  afterAll(async () => {
    await server?.end();
    rmSync(folder, { recursive: true, force: true });
  });

  for (const by of ['gateway', 'proxy']) {
    it(`takes a sandbox from create to kill, data by the ${by}`, {
      timeout: RUN_TIMEOUT_MS,
    }, async (context) => {
      if (missing !== null) context.skip(missing);
      const steps = await takeSteps(by);
      expect(steps.filter(({ error }) => error !== null)).toEqual([]);
      const names = steps.map(({ step }) => step);
      expect(names).toEqual(expect.arrayContaining(['create', 'kept file', 'kill']));
      expect((await server?.call('GET', '/sandboxes'))?.json.items).toEqual([]);
    });
  }

  async function takeSteps(by: string): Promise<Step[]> {
    const [program, script] = command(folder);
    const { stdout } = await run(program, [script], {
      timeout: RUN_TIMEOUT_MS,
      env: {
        PATH: process.env.PATH,
        SANDBOX_DOMAIN: new URL(server?.url ?? '').host,
        OPEN_SANDBOX_API_KEY: API_KEY,
        SANDBOX_IMAGE: 'any',
        SANDBOX_BY: by,
      },
    });
    return stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  }
});
