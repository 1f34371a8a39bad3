/** A Temporal dev server of our own: one process, its data in a file, so that it survives a restart. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { freePort } from '../ports.js';

const UP_WITHIN_MS = 60_000;
const STOP_GRACE_MS = 10_000;
const TRIES = 3;
/** Numbers of `temporal.api.enums.v1.IndexedValueType`. */
const VALUE_TYPES = { Text: 1, Keyword: 2, Int: 3, Double: 4, Bool: 5, Datetime: 6, KeywordList: 7 } as const;

export interface DevServerOptions {
  /** The `temporal` command. */
  readonly cliPath: string;
  readonly dbFile: string;
  /** Its log is appended here. */
  readonly logFile: string;
  readonly searchAttributes: Readonly<Record<string, keyof typeof VALUE_TYPES>>;
  /** Absent: a free one. */
  readonly port?: number;
  /** Absent: no web UI. */
  readonly uiPort?: number;
}

export interface DevServer {
  readonly address: string;
  readonly uiUrl: string | null;
  readonly pid: number;
  /** Returns when the process has ended. */
  stop(): Promise<void>;
}

/**
 * Starts the server and returns when it answers, with all search attributes registered.
 * @throws with the end of its log, when it does not come up.
 */
export async function startDevServer(options: DevServerOptions): Promise<DevServer> {
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port ?? (await freePort());
    const child = launch(options, port);
    const stop = () => stopChild(child);
    try {
      const address = `127.0.0.1:${port}`;
      await prepare(address, child, options);
      const uiUrl = options.uiPort === undefined ? null : `http://127.0.0.1:${options.uiPort}`;
      return { address, uiUrl, pid: child.pid as number, stop };
    } catch (error) {
      await stop();
      // A free port may have been taken by somebody else in the meantime.
      if (options.port !== undefined || attempt === TRIES) throw error;
    }
  }
}

function launch(options: DevServerOptions, port: number): ChildProcess {
  const log = openSync(options.logFile, 'a');
  const ui = options.uiPort === undefined ? ['--headless'] : ['--ui-port', `${options.uiPort}`];
  const attributes = Object.entries(options.searchAttributes).flatMap(([name, type]) => [
    '--search-attribute',
    `${name}=${type}`,
  ]);
  const args = [
    ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', `${port}`, ...ui],
    ...['--db-filename', options.dbFile, '--log-level', 'warn', ...attributes],
    // Write-ahead log: the same safety when the process dies, several times the speed. A power cut may cost
    // the last transactions, which a development server may lose.
    ...['--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=NORMAL'],
  ];
  return spawn(options.cliPath, args, { stdio: ['ignore', log, log] });
}

async function prepare(address: string, child: ChildProcess, options: DevServerOptions): Promise<void> {
  const giveUpAt = Date.now() + UP_WITHIN_MS;
  let ended: string | null = null;
  child.once('error', (error) => {
    ended = error.message;
  });
  child.once('exit', (code, signal) => {
    ended = `${signal ?? `exit code ${code}`}`;
  });
  for (;;) {
    if (ended !== null)
      throw new Error(`Temporal's dev server ended (${ended}).\n${tailOf(options.logFile)}`);
    if (Date.now() > giveUpAt) {
      throw new Error(`Temporal's dev server did not answer within a minute.\n${tailOf(options.logFile)}`);
    }
    const connection = await Connection.connect({ address, connectTimeout: 1000 }).catch(() => null);
    if (connection === null) {
      await sleep(50);
      continue;
    }
    try {
      await connection.withDeadline(Date.now() + 5000, async () => {
        await connection.workflowService.describeNamespace({ namespace: 'default' });
        await registerMissing(connection, options.searchAttributes);
      });
      return;
    } catch {
      await sleep(100);
    } finally {
      await connection.close();
    }
  }
}

/** The flags of the command register only on a new database. */
async function registerMissing(
  connection: Connection,
  wanted: DevServerOptions['searchAttributes'],
): Promise<void> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({
    namespace: 'default',
  });
  const missing = Object.entries(wanted).filter(([name]) => customAttributes?.[name] === undefined);
  if (missing.length === 0) return;
  await connection.operatorService.addSearchAttributes({
    namespace: 'default',
    searchAttributes: Object.fromEntries(missing.map(([name, type]) => [name, VALUE_TYPES[type]])),
  });
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS);
  await exited;
  clearTimeout(timer);
}

function tailOf(file: string): string {
  return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-5).join('\n');
}
