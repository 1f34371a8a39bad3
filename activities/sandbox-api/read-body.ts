/** Reads the body of an answer in bounded memory. Every body is read or cut off: an open one holds a connection. */

import type { Dispatcher } from 'undici';

/** What to keep of a body that is too long: nothing, ending the connection, or its last part. */
export type Overflow = 'stop' | 'keep-tail';

export interface Body {
  /** At most `maxBytes`, or `ERROR_MAX_BYTES` where the answer is an error. */
  readonly body: Buffer;
  /** The body was longer: at least so long. */
  readonly exceededBytes: number | null;
}

/** Error bodies are read up to here however little the caller wants: their codes tell what happened. */
export const ERROR_MAX_BYTES = 64 * 1024;

export async function readBody(
  response: Dispatcher.ResponseData,
  maxBytes: number,
  overflow: Overflow,
): Promise<Body> {
  const limitBytes = response.statusCode < 400 ? maxBytes : Math.max(maxBytes, ERROR_MAX_BYTES);
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  let keptBytes = 0;
  for await (const chunk of response.body as AsyncIterable<Buffer>) {
    sizeBytes += chunk.byteLength;
    keptBytes += chunk.byteLength;
    chunks.push(chunk);
    if (sizeBytes > limitBytes && overflow === 'stop') {
      const declaredBytes = Number(response.headers['content-length']) || 0;
      // Leaving the loop destroys the body, and with it the connection.
      return { body: Buffer.alloc(0), exceededBytes: Math.max(sizeBytes, declaredBytes) };
    }
    while (keptBytes - (chunks[0]?.byteLength ?? 0) >= limitBytes) {
      keptBytes -= chunks.shift()?.byteLength ?? 0;
    }
  }
  const kept = Buffer.concat(chunks);
  return {
    body: kept.subarray(Math.max(0, kept.byteLength - limitBytes)),
    exceededBytes: sizeBytes > limitBytes ? sizeBytes : null,
  };
}
