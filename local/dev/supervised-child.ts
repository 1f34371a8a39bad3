/**
 * A child process that is started again when it dies unasked, as a service manager would do it.
 * Its standard input is a pipe of ours, by whose end it notices that we were killed.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

/** Time for a graceful end before SIGKILL. */
const STOP_GRACE_MS = 25_000;
const FIRST_RESTART_AFTER_MS = 500;
const MAX_RESTART_AFTER_MS = 10_000;
/** A child that lived so long counts as healthy: its next restart is quick again. */
const HEALTHY_AFTER_MS = 30_000;

export interface ChildOptions {
  /** For people, e.g. `worker`. */
  readonly name: string;
  /** Arguments for this process's own Node.js. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly logFile: string;
  /** Whether this line of its standard output says that it is up. */
  readonly isReady: (line: string) => boolean;
  /** Hears of every unasked death and of every return. */
  readonly onEvent: (event: string) => void;
}

export class SupervisedChild {
  readonly #options: ChildOptions;
  #process: ChildProcess | null = null;
  #stopping = false;

  private constructor(options: ChildOptions) {
    this.#options = options;
  }

  /**
   * @returns the child, and the line with which it said that it is up.
   * @throws when it ends before that; the message names its log file.
   */
  static async start(
    options: ChildOptions,
  ): Promise<{ readonly child: SupervisedChild; readonly line: string }> {
    const child = new SupervisedChild(options);
    return { child, line: await child.#run() };
  }

  /** Of the process that runs now; `null` between two of them. */
  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    const running = this.#process;
    if (running === null) return;
    const exited = once(running, 'exit');
    running.kill('SIGTERM');
    const timer = setTimeout(() => running.kill('SIGKILL'), STOP_GRACE_MS);
    await exited;
    clearTimeout(timer);
  }

  /** Starts the process and waits until it is up; from then on it is kept alive. */
  async #run(): Promise<string> {
    const { name, args, env, logFile, isReady } = this.#options;
    const log = createWriteStream(logFile, { flags: 'a' });
    // A process group of its own: Ctrl-C on the terminal reaches only us, and we stop in good order.
    const running = spawn(process.execPath, args, { env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#process = running;
    running.stderr.pipe(log, { end: false });
    const startedAt = Date.now();
    const ended = once(running, 'exit').then(([code, signal]) => {
      this.#process = null;
      log.end();
      return `${signal ?? `exit code ${code}`}`;
    });
    const up = new Promise<string>((resolve) => {
      createInterface({ input: running.stdout }).on('line', (line) => {
        log.write(`${line}\n`);
        if (isReady(line)) resolve(line);
      });
    });
    const line = await Promise.race([
      up,
      ended.then((why) => {
        throw new Error(`The ${name} ended (${why}) before it was up. What it said is in ${logFile}`);
      }),
    ]);
    void ended.then((why) => this.#revive(why, Date.now() - startedAt));
    return line;
  }

  async #revive(why: string, livedMs: number): Promise<void> {
    let waitMs = livedMs > HEALTHY_AFTER_MS ? FIRST_RESTART_AFTER_MS : FIRST_RESTART_AFTER_MS * 2;
    while (!this.#stopping) {
      this.#options.onEvent(`The ${this.#options.name} ended (${why}); starting it again.`);
      await sleep(waitMs);
      if (this.#stopping) return;
      try {
        await this.#run();
        this.#options.onEvent(`The ${this.#options.name} is up again.`);
        return;
      } catch (error) {
        why = error instanceof Error ? error.message : String(error);
        waitMs = Math.min(waitMs * 2, MAX_RESTART_AFTER_MS);
      }
    }
  }
}
