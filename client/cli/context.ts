/** What every command is given: the environment, the terminal, and the means to connect and to end. */

import { userInfo } from 'node:os';
import pico from 'picocolors';
import type { Environment } from '../dev-session.js';
import { Longhaul } from '../longhaul.js';
import { EXIT } from './exit-codes.js';

export type Paint = ReturnType<typeof pico.createColors>;

export class CliContext {
  readonly env: Environment;
  /** For standard output. */
  readonly paint: Paint;
  readonly isTty: boolean;
  /** One of `EXIT`, or that of a command inside a sandbox. */
  exitCode: number = EXIT.DONE;

  constructor(env: Environment) {
    this.env = env;
    this.isTty = process.stdout.isTTY === true;
    const isColourful = this.isTty && env.TERM !== 'dumb' && !env.NO_COLOR;
    this.paint = pico.createColors(isColourful || Boolean(env.FORCE_COLOR && !env.NO_COLOR));
  }

  get columns(): number {
    return process.stdout.columns || 100;
  }

  /** One line, or several, on standard output. */
  print(text: string): void {
    process.stdout.write(`${text}\n`);
  }

  /** The one JSON document of a command. */
  printJson(document: unknown): void {
    this.print(JSON.stringify(document, null, 2));
  }

  /** Remarks that are no result. */
  note(text: string): void {
    process.stderr.write(`${text}\n`);
  }

  async withLonghaul<T>(work: (longhaul: Longhaul) => Promise<T>): Promise<T> {
    const longhaul = await Longhaul.connect({ env: this.env });
    for (const warning of longhaul.config.warnings) this.note(`warning: ${warning}`);
    try {
      return await work(longhaul);
    } finally {
      await longhaul.close();
    }
  }

  /** Who steers: for the holds and histories that others will read. */
  get user(): string {
    return `${this.env.USER || nameOfUser()}@cli`;
  }
}

function nameOfUser(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container a process may run under a number that has no name.
    return 'unknown';
  }
}
