/**
 * A stream of events. They are not server-sent events, whatever the content type says: each is a line of JSON
 * and an empty line, without `data:`.
 */

import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

const PING_MS = 3000;

/** For an answer that goes on for a while. */
export const EVENT_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
};

export class EventStream {
  readonly #response: ServerResponse;
  #pings: NodeJS.Timeout | null = null;

  constructor(response: ServerResponse) {
    this.#response = response;
    response.once('close', () => this.#stopPings());
  }

  /** The first event, and a ping now and from time to time. */
  async begin(id: string): Promise<void> {
    await this.#send({ type: 'init', text: id, timestamp: Date.now() });
    const ping = () => this.#send({ type: 'ping', text: 'pong', timestamp: Date.now() });
    this.#pings = setInterval(() => void ping(), PING_MS);
    await ping();
  }

  /** Waits for a client that reads more slowly than the command writes; for one that has gone, never. */
  async output(type: 'stdout' | 'stderr', texts: Iterable<string>): Promise<void> {
    for (const text of texts) await this.#send({ type, text, timestamp: Date.now() });
  }

  async completed(elapsedMs: number): Promise<void> {
    const time = elapsedMs > 0 ? { execution_time: elapsedMs } : {};
    await this.#finish({ type: 'execution_complete', ...time, timestamp: Date.now() });
  }

  /** @param value the exit code, or why there is none. */
  async failed(value: string, reason: string): Promise<void> {
    const error = { ename: 'CommandExecError', evalue: value, traceback: [reason] };
    await this.#finish({ type: 'error', timestamp: Date.now(), error });
  }

  /** What goes wrong once the stream has begun is said without being an event. */
  refused(code: string, message: string): void {
    this.#stopPings();
    this.#response.end(JSON.stringify({ code, message }));
  }

  /** The end of a stream of which nobody knows how it would have ended. */
  cut(): void {
    this.#stopPings();
    this.#response.destroy();
  }

  async #finish(event: object): Promise<void> {
    this.#stopPings();
    await this.#send(event);
    this.#response.end();
  }

  async #send(event: object): Promise<void> {
    const response = this.#response;
    if (response.destroyed) return;
    if (!response.headersSent) response.writeHead(200, EVENT_HEADERS);
    if (response.write(`${JSON.stringify(event)}\n\n`) || response.destroyed) return;
    const settled = new AbortController();
    const { signal } = settled;
    await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]).catch(
      () => undefined,
    );
    settled.abort();
  }

  #stopPings(): void {
    if (this.#pings !== null) clearInterval(this.#pings);
    this.#pings = null;
  }
}
