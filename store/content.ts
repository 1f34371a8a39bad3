/** The bytes on their way into a store: counted, hashed, and cut off at once when nobody wants them any more. */

import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { StoredContent } from './types.js';

export type Body = string | Uint8Array | AsyncIterable<Uint8Array>;

export interface Measured {
  /** To be read once. */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** What has been read by now. To be asked once, at the end. */
  contentOf(key: string): StoredContent;
  /** The body could not be read, so it is not the store that failed. */
  cameFromBody(error: unknown): boolean;
  /** Lets go of a stream that was not read to its end, or not at all. To be called whatever happened. */
  release(): void;
}

/** Reading throws the reason of the signal once it is aborted, even while the body keeps everybody waiting. */
export function measure(body: Body, signal?: AbortSignal): Measured {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  let failure: { readonly error: unknown } | null = null;

  async function* chunks(): AsyncGenerator<Uint8Array> {
    const source = iteratorOf(body);
    try {
      for (;;) {
        const next = Promise.resolve(source.next()).catch((error: unknown) => {
          failure = { error };
          throw error;
        });
        const { done, value } = await orAborted(next, signal);
        if (done) return;
        hash.update(value);
        sizeBytes += value.byteLength;
        yield value;
      }
    } finally {
      // Not awaited: a body that hangs would not answer this either.
      Promise.resolve(source.return?.()).catch(() => {});
    }
  }

  return {
    chunks: chunks(),
    contentOf: (key) => ({ key, sizeBytes, sha256: hash.digest('hex') }),
    cameFromBody: (error) => failure !== null && failure.error === error,
    release() {
      // The body of an HTTP answer calls this an error, which nobody is left to hear.
      if (body instanceof Readable) body.on('error', () => {}).destroy();
    },
  };
}

function iteratorOf(body: Body): AsyncIterator<Uint8Array> {
  if (typeof body === 'string') return iteratorOf(Buffer.from(body));
  return (body instanceof Uint8Array ? Readable.from([body]) : body)[Symbol.asyncIterator]();
}

function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** @throws RangeError */
export function checkRange({ start, end = start }: { readonly start: number; readonly end?: number }): void {
  if (!(Number.isSafeInteger(start) && start >= 0 && Number.isSafeInteger(end)))
    throw new RangeError(`No bytes are at ${start} to ${end}.`);
}
