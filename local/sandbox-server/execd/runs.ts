/** What has been started in a sandbox, and is known of until its processes end. */

import { isAlive } from '../processes.js';
import type { SandboxRecord } from '../record.js';
import type { Session } from './sessions.js';
import type { Spool } from './spool.js';

const TICK_MS = 2000;
/** Of one sandbox; the oldest that have ended are forgotten first. */
const MAX_COMMANDS = 1000;

export interface Run {
  readonly id: string;
  /** What was asked for. */
  readonly content: string;
  /** What a background command writes; `null` for one whose output is an answer. */
  readonly output: Spool | null;
  readonly startedAt: Date;
  finishedAt: Date | null;
  /** -1 after a signal. */
  exitCode: number | null;
  /** How it ended, unless well. */
  error: string;
  /** To its process group. */
  readonly strike: (signal: 'SIGTERM' | 'SIGKILL') => void;
  readonly ended: Promise<void>;
}

/** The commands and sessions of a sandbox between two starts of its entrypoint. */
export class Runs {
  readonly sessions = new Map<string, Session>();
  readonly #starts: number;
  readonly #commands = new Map<string, Run>();
  readonly #ticking: NodeJS.Timeout;

  constructor(record: SandboxRecord) {
    this.#starts = record.starts;
    this.#ticking = setInterval(() => {
      if (!this.belongTo(record) || !isAlive(record.outer)) this.close();
    }, TICK_MS);
    this.#ticking.unref();
  }

  belongTo({ starts, deleting }: SandboxRecord): boolean {
    return starts === this.#starts && !deleting;
  }

  get(id: string): Run | null {
    return this.#commands.get(id) ?? null;
  }

  add(run: Run): void {
    this.#commands.set(run.id, run);
    const old = [...this.#commands.values()].filter(({ finishedAt }) => finishedAt !== null);
    for (const each of old.slice(0, Math.max(0, this.#commands.size - MAX_COMMANDS))) this.#forget(each);
  }

  close(): void {
    clearInterval(this.#ticking);
    for (const run of this.#commands.values()) this.#forget(run);
    this.sessions.clear();
  }

  #forget(run: Run): void {
    this.#commands.delete(run.id);
    run.output?.close().catch(() => undefined);
  }
}

const runsOfSandboxes = new WeakMap<SandboxRecord, Runs>();

export function runsOf(record: SandboxRecord): Runs {
  const known = runsOfSandboxes.get(record);
  if (known?.belongTo(record)) return known;
  known?.close();
  const runs = new Runs(record);
  runsOfSandboxes.set(record, runs);
  return runs;
}
