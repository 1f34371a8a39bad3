/**
 * Sends the events of a job to one receiver, in order, at least once each, by the rules of Standard Webhooks:
 * an ID that stays the same over repetitions, and a signature over ID, time and body.
 */

import { createHash, createHmac } from 'node:crypto';
import { activityInfo, heartbeat } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { request } from 'undici';
import type { DeliverEventsInput, DeliverEventsOutcome } from '../contract/activities.js';
import type { JobEvent } from '../contract/timeline.js';
import type { Dependencies } from './dependencies.js';
import { readRetryAfterMs } from './sandbox-api/classify.js';

const TIMEOUT_MS = 10_000;
const ANSWER_MAX_BYTES = 64 * 1024;
const GONE = 410;

/** What an attempt leaves for the next one. */
interface Trail {
  readonly deliveredThrough: number;
}

export function deliverEventsWith({ secrets }: Pick<Dependencies, 'secrets'>) {
  return async function deliverEvents(input: DeliverEventsInput): Promise<DeliverEventsOutcome> {
    const { owner, target, events } = input;
    let { deliveredThrough } = (activityInfo().heartbeatDetails as Trail | undefined) ?? {
      deliveredThrough: 0,
    };
    const secret = target.secretEnv === null ? null : await secretOf(target.secretEnv);
    for (const event of events) {
      if (event.seq <= deliveredThrough) continue;
      const id = `evt_${digest(`${owner.runChainId}/${event.seq}`)}`;
      const body = JSON.stringify({ id, job: owner.jobId, ...withoutSeq(event) });
      if ((await send(target.url, id, body, secret)) === GONE) return { deliveredThrough, gone: true };
      deliveredThrough = event.seq;
      heartbeat({ deliveredThrough } satisfies Trail);
    }
    return { deliveredThrough, gone: false };
  };

  async function secretOf(reference: string): Promise<Buffer> {
    try {
      const text = await secrets.resolve(reference);
      return text.startsWith('whsec_')
        ? Buffer.from(text.slice('whsec_'.length), 'base64')
        : Buffer.from(text);
    } catch (error) {
      // It may be added to a worker some day.
      throw notDelivered(error instanceof Error ? error.message : String(error));
    }
  }
}

/** @returns the status, 2xx or 410. @throws ApplicationFailure, retryable, for everything else. */
async function send(url: string, id: string, body: string, secret: Buffer | null): Promise<number> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature =
    secret === null
      ? {}
      : {
          'webhook-signature': `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`,
        };
  const place = new URL(url).origin + new URL(url).pathname;
  let status: number;
  let retryAfterMs: number | null = null;
  try {
    const answer = await request(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        ...signature,
      },
      body,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    status = answer.statusCode;
    retryAfterMs = readRetryAfterMs(answer, Date.now());
    await answer.body.dump({ limit: ANSWER_MAX_BYTES });
  } catch (error) {
    const { code, name } = error as { code?: string; name?: string };
    throw notDelivered(`${place} did not answer (${code ?? name ?? 'unknown'}).`);
  }
  if ((status >= 200 && status < 300) || status === GONE) return status;
  throw notDelivered(`${place} answered ${status}.`, retryAfterMs);
}

function withoutSeq({ seq: _, ...event }: JobEvent): Omit<JobEvent, 'seq'> {
  return event;
}

function notDelivered(message: string, retryAfterMs: number | null = null): ApplicationFailure {
  return ApplicationFailure.create({
    type: 'NOT_DELIVERED',
    message,
    category: ApplicationFailureCategory.BENIGN,
    ...(retryAfterMs === null ? {} : { nextRetryDelay: retryAfterMs }),
  });
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
