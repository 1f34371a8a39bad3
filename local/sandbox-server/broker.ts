/** The process that reaches into network namespaces for this one. One per server, started when first needed. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { Socket } from 'node:net';
import { BROKER_SCRIPT } from './broker-script.js';
import type { ProcessIdentity } from './processes.js';

interface Answer {
  readonly id: number;
  readonly error?: string;
}

interface Waiting {
  readonly resolve: (socket: Socket) => void;
  readonly reject: (error: Error) => void;
}

/** The absolute path first: version managers put slow wrappers into the PATH. */
const PYTHONS = ['/usr/bin/python3', 'python3'];

/** A Python that can be the broker; `null` when there is none. */
export function findPython(): string | null {
  const runs = (python: string) =>
    spawnSync(python, ['-S', '-E', '-c', 'import ctypes, fcntl, selectors'], { stdio: 'ignore' }).status ===
    0;
  return PYTHONS.find(runs) ?? null;
}

export class Broker {
  readonly #python: string;
  readonly #waiting = new Map<number, Waiting>();
  #child: ChildProcess | null = null;
  #lastId = 0;

  constructor(python: string) {
    this.#python = python;
  }

  /**
   * A connection to 127.0.0.1:`port` in the network namespace of this process.
   * @throws Error when nobody accepts it.
   */
  connect(inside: ProcessIdentity, port: number): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      this.#waiting.set(id, { resolve, reject });
      const { pid, startedAt } = inside;
      this.#running().send(
        { id, pid, startedAt, port },
        (error) => error && this.#settle({ id, error: error.message }),
      );
    });
  }

  close(): void {
    this.#child?.disconnect();
    this.#child = null;
  }

  #running(): ChildProcess {
    if (this.#child !== null) return this.#child;
    const child = spawn(this.#python, ['-S', '-E', '-c', BROKER_SCRIPT], {
      env: { PATH: process.env.PATH },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    child.on('message', (answer, handle) => this.#settle(answer as Answer, handle as Socket | undefined));
    child.on('error', () => this.#lost(child));
    child.on('exit', () => this.#lost(child));
    child.unref();
    child.channel?.unref();
    this.#child = child;
    return child;
  }

  #settle(answer: Answer, socket?: Socket): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (waiting === undefined) socket?.destroy();
    else if (socket instanceof Socket) waiting.resolve(socket);
    else waiting.reject(new Error(answer.error ?? 'The broker handed over no socket.'));
  }

  #lost(child: ChildProcess): void {
    if (this.#child !== child) return;
    this.#child = null;
    for (const id of [...this.#waiting.keys()]) this.#settle({ id, error: 'The broker process ended.' });
  }
}
