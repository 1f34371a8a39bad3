/**
 * Everything that a job needs, on one machine: Temporal dev server, local sandbox server, worker.
 * Each is a process of its own, so that each can die alone, as it can in production.
 */

import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DEV_SESSION_FILE, type DevSession, sessionEnvironment } from '../../contract/dev-session.js';
import { DEFAULT_TASK_QUEUE, SEARCH_ATTRIBUTES } from '../../contract/messages.js';
import { cacheDir } from '../folders.js';
import { freePort } from '../ports.js';
import { type DevServer, findTemporalCli, startDevServer } from '../temporal/index.js';
import { SupervisedChild } from './supervised-child.js';

type Environment = Readonly<Record<string, string | undefined>>;

export interface StackOptions {
  /** Databases, workspaces, logs and the session file; made when missing. */
  readonly stateDir: string;
  /** Preferred ports; taken ones are replaced by free ones. Absent: free ones. */
  readonly ports?: {
    readonly temporal: number;
    readonly ui: number;
    readonly sandboxApi: number;
    readonly gateway: number;
  };
  readonly env: Environment;
  /** Flags of the sandbox server besides its places, e.g. `--faults`. */
  readonly sandboxServerFlags?: readonly string[];
  /** Progress and events, for people. */
  readonly log: (line: string) => void;
}

export interface Stack {
  readonly session: DevSession;
  /** How the sandboxes are isolated, and what to know about it. */
  readonly isolation: { readonly backend: string; readonly notes: readonly string[] };
  readonly workspaces: string;
  readonly worker: SupervisedChild;
  readonly sandboxServer: SupervisedChild;
  /** Ends Temporal with SIGKILL and starts it again with its data, at the same address: for drills. */
  killTemporal(): Promise<void>;
  /** Ends all of it, the processes of the sandboxes too. Data stays in the state folder. */
  stop(): Promise<void>;
}

const SANDBOX_SERVER = fileURLToPath(new URL('../sandbox-server/main.js', import.meta.url));
const COMMAND = fileURLToPath(new URL('../../client/cli/main.js', import.meta.url));

export async function startStack(options: StackOptions): Promise<Stack> {
  const { stateDir, env, log } = options;
  const logs = join(stateDir, 'logs');
  await mkdir(logs, { recursive: true });
  const stops: (() => Promise<unknown>)[] = [];
  let killTemporal = async () => {};
  const stop = async () => {
    for (const each of stops.reverse().splice(0)) await each();
  };

  try {
    const temporal = await startTemporal();
    const sandboxes = await startSandboxServer();
    const session: DevSession = {
      pid: process.pid,
      startedAt: new Date().toISOString(),
      temporal: { address: temporal.address, uiUrl: temporal.uiUrl, pid: temporal.pid },
      sandboxApi: { url: sandboxes.url, gatewayUrl: sandboxes.gatewayUrl, apiKey: sandboxes.apiKey },
      taskQueue: DEFAULT_TASK_QUEUE,
      store: join(stateDir, 'store'),
    };
    await writeFile(join(stateDir, DEV_SESSION_FILE), JSON.stringify(session, null, 2), { mode: 0o600 });
    stops.push(() => rm(join(stateDir, DEV_SESSION_FILE), { force: true }));

    const { child: worker } = await SupervisedChild.start({
      name: 'worker',
      args: [COMMAND, 'worker'],
      env: {
        ...env,
        ...sessionEnvironment(session),
        LONGHAUL_HOME: stateDir,
        LONGHAUL_STOP_WITH_PARENT: '1',
      },
      logFile: join(logs, 'worker.log'),
      isReady: (line) => line.includes('worker.started'),
      onEvent: log,
    });
    stops.push(() => worker.stop());
    return {
      session,
      isolation: { backend: sandboxes.backend, notes: sandboxes.notes },
      workspaces: sandboxes.dataDir,
      worker,
      sandboxServer: sandboxes.child,
      killTemporal,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }

  async function startTemporal(): Promise<DevServer> {
    const { path } = await findTemporalCli({ cacheDir: cacheDir(env), log, env });
    const common = {
      cliPath: path,
      dbFile: join(stateDir, 'temporal.db'),
      logFile: join(logs, 'temporal.log'),
      searchAttributes: SEARCH_ATTRIBUTES,
    };
    let server = await startDevServer({
      ...common,
      ...(options.ports === undefined
        ? {}
        : { port: await freePort(options.ports.temporal), uiPort: await freePort(options.ports.ui) }),
    });
    const port = Number(server.address.split(':')[1]);
    killTemporal = async () => {
      process.kill(server.pid, 'SIGKILL');
      await server.stop();
      server = await startDevServer({ ...common, port });
    };
    stops.push(() => server.stop());
    return server;
  }

  async function startSandboxServer() {
    const dataDir = join(stateDir, 'sandboxes');
    const apiKey = await keepApiKey(join(stateDir, 'api-key'));
    const port = await freePort(options.ports?.sandboxApi);
    const gatewayPort = await freePort(options.ports?.gateway);
    const { child, line } = await SupervisedChild.start({
      name: 'sandbox server',
      args: [
        SANDBOX_SERVER,
        '--data',
        dataDir,
        '--port',
        `${port}`,
        '--gateway-port',
        `${gatewayPort}`,
        '--images',
        join(stateDir, 'images'),
        ...(options.sandboxServerFlags ?? []),
      ],
      // The key by environment: arguments are readable by every user of the machine.
      env: { ...env, OPEN_SANDBOX_API_KEY: apiKey },
      logFile: join(logs, 'sandbox-server.log'),
      isReady: (text) => text.startsWith('{') && text.includes('"gatewayUrl"'),
      onEvent: log,
    });
    stops.push(() => child.stop());
    const ready = JSON.parse(line) as { url: string; gatewayUrl: string; backend: string; notes: string[] };
    return { child, dataDir, apiKey, ...ready };
  }
}

/** The same key over restarts, since workers and shells may still hold it. */
async function keepApiKey(file: string): Promise<string> {
  const kept = await readFile(file, 'utf8').catch(() => '');
  if (kept !== '') return kept;
  const made = `local-${randomBytes(24).toString('base64url')}`;
  await writeFile(file, made, { mode: 0o600 });
  return made;
}
