/**
 * The messages of webhooks, by the rules of Standard Webhooks (https://www.standardwebhooks.com): an ID that stays
 * the same over repetitions, and a signature over ID, time and body. Pure.
 */

import { createHash, createHmac } from 'node:crypto';
import type { Ownership } from '../contract/activities.js';
import type { JobEvent } from '../contract/timeline.js';

const ID_CHARS = 32;
const ENCODED_SECRET = 'whsec_';

export interface WebhookMessage {
  readonly id: string;
  /** JSON. The signature is over these very characters. */
  readonly body: string;
}

export function messageOf({ jobId, runChainId }: Ownership, event: JobEvent): WebhookMessage {
  const digest = createHash('sha256').update(`${runChainId}/${event.seq}`).digest('hex');
  const id = `evt_${digest.slice(0, ID_CHARS)}`;
  const { event: name, at, phase, cause, checkpoint, answerWith } = event;
  return {
    id,
    body: JSON.stringify({ id, job: jobId, event: name, at, phase, cause, checkpoint, answerWith }),
  };
}

/** @param key `null`: the message is not signed. */
export function headersOf(
  { id, body }: WebhookMessage,
  key: Buffer | null,
  now: Date,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(now.getTime() / 1000));
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
  };
  if (key === null) return headers;
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { ...headers, 'webhook-signature': `v1,${signature}` };
}

/**
 * @returns the bytes of `whsec_<base64>`, those of any other text as they are; `null` where there would be none,
 * since everybody could sign with an empty key.
 */
export function signingKey(secret: string): Buffer | null {
  if (!secret.startsWith(ENCODED_SECRET)) return secret === '' ? null : Buffer.from(secret);
  const encoded = secret.slice(ENCODED_SECRET.length);
  return /^[A-Za-z0-9+/]+={0,2}$/.test(encoded) ? Buffer.from(encoded, 'base64') : null;
}
