/** The start, pause or clearing-up under way: at most one per sandbox. A deletion waits for it. */

import { setTimeout as sleep } from 'node:timers/promises';

interface Operation {
  readonly done: Promise<void>;
  readonly hurry: AbortController;
}

export class Operations {
  readonly #running = new Map<string, Operation>();

  has(id: string): boolean {
    return this.#running.has(id);
  }

  /** @param work its signal says that nobody wants to wait for artificial delays any more. */
  run(id: string, work: (hurry: AbortSignal) => Promise<void>, onDone: () => void): Promise<void> {
    const hurry = new AbortController();
    const done = work(hurry.signal).finally(() => {
      this.#running.delete(id);
      onDone();
    });
    this.#running.set(id, { done, hurry });
    return done;
  }

  /** Resolves when the operation of this sandbox is over, however it went. */
  async end(id: string): Promise<void> {
    const operation = this.#running.get(id);
    operation?.hurry.abort();
    await operation?.done.catch(() => undefined);
  }

  async endAll(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((id) => this.end(id)));
  }
}

/** A delay that a fault rule has ordered. */
export async function linger(ms: number, hurry: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { ref: false, signal: hurry }).catch(() => undefined);
}
