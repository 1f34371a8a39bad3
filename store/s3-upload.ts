/** Uploads a stream of unknown length: in one request where it is short, else part by part. */

import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { StoreError } from './errors.js';

/** Size and number bound the memory of an upload, together with the limit of 10,000 parts also its size: 78 GiB. */
const PART_BYTES = 8 * 2 ** 20;
const PARTS_AT_ONCE = 3;
const MAX_PARTS = 10_000;
/** An upload that has failed must not keep everybody waiting with its cleaning up. */
const ABORT_TIMEOUT_MS = 10_000;

interface Target {
  readonly Bucket: string;
  readonly Key: string;
}

interface Part {
  readonly number: number;
  readonly bytes: Buffer;
  readonly isLast: boolean;
}

export interface Ending {
  readonly signal: AbortSignal;
  /** Aborts the signal, unless something else has before. */
  readonly end: (reason: unknown) => void;
}

/**
 * Ends by its own signal when anything fails, so that its reason is what failed first; the chunks should listen to
 * it, too. Nothing is left behind then.
 */
export async function upload(
  client: S3Client,
  target: Target,
  chunks: AsyncIterable<Uint8Array>,
  { signal: abortSignal, end }: Ending,
): Promise<void> {
  const uploaded: CompletedPart[] = [];
  const inFlight = new Set<Promise<void>>();
  let UploadId: string | undefined;

  async function begin(): Promise<string | undefined> {
    // The SDK gives each part a checksum unless it is told not to; S3 takes it only where it was announced.
    const hasChecksums = (await client.config.requestChecksumCalculation()) === 'WHEN_SUPPORTED';
    const announced = hasChecksums ? ({ ChecksumAlgorithm: 'CRC32' } as const) : {};
    const command = new CreateMultipartUploadCommand({ ...target, ...announced });
    return (await client.send(command, { abortSignal })).UploadId;
  }

  async function uploadPart({ number: PartNumber, bytes: Body }: Part): Promise<void> {
    try {
      const command = new UploadPartCommand({ ...target, UploadId, PartNumber, Body });
      const { $metadata: _, ...tagAndChecksum } = await client.send(command, { abortSignal });
      uploaded.push({ ...tagAndChecksum, PartNumber });
    } catch (error) {
      end(error);
    }
  }

  try {
    for await (const part of partsOf(chunks)) {
      if (part.number === 1 && part.isLast) {
        await client.send(new PutObjectCommand({ ...target, Body: part.bytes }), { abortSignal });
        return;
      }
      UploadId ??= await begin();
      if (inFlight.size === PARTS_AT_ONCE) await Promise.race(inFlight);
      abortSignal.throwIfAborted();
      const sending = uploadPart(part).finally(() => inFlight.delete(sending));
      inFlight.add(sending);
    }
    await Promise.all(inFlight);
    abortSignal.throwIfAborted();
    const Parts = uploaded.sort((a, b) => Number(a.PartNumber) - Number(b.PartNumber));
    const command = new CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload: { Parts } });
    await client.send(command, { abortSignal });
  } catch (error) {
    end(error);
    await Promise.all(inFlight);
    if (UploadId !== undefined)
      await client
        .send(new AbortMultipartUploadCommand({ ...target, UploadId }), {
          abortSignal: AbortSignal.timeout(ABORT_TIMEOUT_MS),
        })
        .catch(() => {});
    throw error;
  }
}

async function* partsOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Part> {
  let number = 1;
  let pending: Uint8Array[] = [];
  let missingBytes = PART_BYTES;
  for await (const chunk of chunks) {
    let rest = chunk;
    // Not when it just fills the part: the last part must be known as such.
    while (rest.byteLength > missingBytes) {
      if (number === MAX_PARTS)
        throw new StoreError(
          `Objects in S3 cannot be larger than ${(MAX_PARTS * PART_BYTES) / 2 ** 30} GiB.`,
        );
      yield { number, bytes: Buffer.concat([...pending, rest.subarray(0, missingBytes)]), isLast: false };
      number += 1;
      pending = [];
      rest = rest.subarray(missingBytes);
      missingBytes = PART_BYTES;
    }
    pending.push(rest);
    missingBytes -= rest.byteLength;
  }
  yield { number, bytes: Buffer.concat(pending), isLast: true };
}
