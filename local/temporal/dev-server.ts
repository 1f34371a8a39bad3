/** A Temporal dev server of our own: one process, its data in a file, so that it survives a restart. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import { freePort } from '../ports.js';
import { dieWithParent } from './die-with-parent.js';
import { answers } from './readiness.js';
import { asValueTypes, SearchAttributeConflictError, type ValueTypes } from './search-attributes.js';

const STOP_GRACE_MS = 10_000;
const TRIES = 4;
const TAIL_LINES = 10;
/** What Go says when a port was taken between our choice and the server's start. */
const PORT_TAKEN = 'address already in use';

export interface DevServerOptions {
  /** The `temporal` command. */
  readonly cliPath: string;
  /** SQLite file; made when missing. */
  readonly dbFile: string;
  /** What the server says is appended here. */
  readonly logFile: string;
  /** Name to type: Text, Keyword, Int, Double, Bool, Datetime or KeywordList. */
  readonly searchAttributes: Readonly<Record<string, string>>;
  /** Default and 0: a free one. */
  readonly port?: number;
  /** Default: no web UI. 0: a free one. */
  readonly uiPort?: number;
  /** Made when missing. Default: `default`. */
  readonly namespace?: string;
}

export interface DevServer {
  readonly address: string;
  /** `null` without a web UI. */
  readonly uiUrl: string | null;
  readonly pid: number;
  /** SIGTERM, and SIGKILL after 10 s. Returns when the process has ended. */
  stop(): Promise<void>;
}

interface Launch extends DevServerOptions {
  readonly port: number;
  readonly namespace: string;
  readonly valueTypes: ValueTypes;
}

/**
 * Starts the server and returns when it answers, with its namespace and all search attributes registered, on an
 * older database, too. The server ends with this process, however that ends.
 * @throws Error with the end of its log, when it does not come up; at once when a port that was asked for is taken.
 */
export async function startDevServer(options: DevServerOptions): Promise<DevServer> {
  const valueTypes = asValueTypes(options.searchAttributes);
  for (let attempt = 1; ; attempt += 1) {
    const port = await claimPort(options.port ?? 0);
    const uiPort = options.uiPort === undefined ? {} : { uiPort: await claimPort(options.uiPort) };
    const launch = { ...options, ...uiPort, port, namespace: options.namespace ?? 'default', valueTypes };
    const server = await tryStart(launch);
    if (typeof server !== 'string') return server;
    if (attempt === TRIES || !server.includes(PORT_TAKEN)) throw new Error(server);
  }
}

async function claimPort(wanted: number): Promise<number> {
  const port = await freePort(wanted);
  if (wanted === 0 || port === wanted) return port;
  throw new Error(
    `Port ${wanted} on 127.0.0.1 is taken. Stop what listens there, or choose another port for Temporal.`,
  );
}

/** @returns the server, or why it did not come up. */
async function tryStart(launch: Launch): Promise<DevServer | string> {
  const { port, uiPort, logFile } = launch;
  const address = `127.0.0.1:${port}`;
  const logStart = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
  const child = spawnServer(launch);
  const exit = new AbortController();
  child.once('error', (error) => exit.abort(error.message));
  child.once('exit', (code, signal) => exit.abort(`it ended with ${signal ?? `exit code ${code}`}`));
  try {
    await answers(address, launch, exit.signal);
  } catch (error) {
    // Before we stop it ourselves, which it would also report.
    const why = exit.signal.aborted ? exit.signal.reason : (error as Error).message;
    const said = tailOf(logFile, logStart);
    await stopChild(child);
    if (error instanceof SearchAttributeConflictError) throw error;
    return `Temporal's dev server did not start: ${why}. The end of ${logFile}:\n${said}`;
  }
  return {
    address,
    uiUrl: uiPort === undefined ? null : `http://127.0.0.1:${uiPort}`,
    pid: child.pid as number,
    stop: () => stopChild(child),
  };
}

function spawnServer(launch: Launch): ChildProcess {
  const { cliPath, dbFile, logFile, namespace, port, uiPort, searchAttributes } = launch;
  const attributes = Object.entries(searchAttributes).map(([name, type]) => `${name}=${type}`);
  const args = [
    ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', `${port}`, '--namespace', namespace],
    ...(uiPort === undefined ? ['--headless'] : ['--ui-port', `${uiPort}`]),
    ...['--db-filename', dbFile, '--log-level', 'warn'],
    // Write-ahead log: the same safety when the process dies, several times the speed. A power cut may cost
    // the last transactions, which a development server may lose.
    ...['--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=NORMAL'],
    ...attributes.flatMap((attribute) => ['--search-attribute', attribute]),
  ];
  const log = openSync(logFile, 'a');
  try {
    // In a process group of its own: Ctrl-C is for us, who stop the server last, after those who need it.
    const child = spawn(cliPath, args, { stdio: ['ignore', log, log], detached: true });
    dieWithParent(child);
    return child;
  } finally {
    closeSync(log);
  }
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS);
  await exited;
  clearTimeout(timer);
}

function tailOf(file: string, start: number): string {
  const said = readFileSync(file).subarray(start).toString('utf8').trimEnd();
  return said.split('\n').slice(-TAIL_LINES).join('\n');
}
