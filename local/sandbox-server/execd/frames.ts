/** Reads what the process of a command reports; the format is told in `run-script.ts`. */

import type { Readable } from 'node:stream';

export type Frame =
  | { readonly kind: 'started' }
  | { readonly kind: 'refused'; readonly stage: 'enter' | 'cwd' | 'exec'; readonly reason: string }
  | { readonly kind: 'stdout' | 'stderr'; readonly data: Buffer }
  /** `exitCode` is -1 after a signal; `reason` in the words of the API. */
  | { readonly kind: 'ended'; readonly exitCode: number; readonly reason: string };

const HEADER_BYTES = 5;

/** Ends without an `ended` when the process was killed itself. */
export async function* readFrames(stream: Readable): AsyncGenerator<Frame> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + rest.readUInt32BE(1);
      if (rest.length < end) break;
      yield frameOf(rest.toString('latin1', 0, 1), rest.subarray(HEADER_BYTES, end));
      rest = rest.subarray(end);
    }
  }
}

function frameOf(kind: string, data: Buffer): Frame {
  switch (kind) {
    case '1':
      return { kind: 'stdout', data };
    case '2':
      return { kind: 'stderr', data };
    case 'e':
      return { kind: 'refused', ...JSON.parse(data.toString('utf8')) };
    case 'x':
      return { kind: 'ended', ...JSON.parse(data.toString('utf8')) };
    default:
      return { kind: 'started' };
  }
}
