/** Posts one message to a receiver, and tells apart what its answer means for the next ones. */

import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { request } from 'undici';
import { readRetryAfterMs } from './sandbox-api/classify.js';
import type { WebhookMessage } from './webhook-message.js';

/** From the first byte of the request to the last one of the answer. */
const TIMEOUT_MS = 10_000;
const ANSWER_MAX_BYTES = 64 * 1024;
/** Longest wait that a `Retry-After` may impose; a receiver that asks for more is asked again after this. */
const MAX_RETRY_AFTER_MS = 3_600_000;
const GONE = 410;
/** With these, a `Retry-After` is an order. */
const BUSY = [429, 503];

/**
 * @param headers of the message, with its signature.
 * @returns `gone`: the receiver wants no message any more.
 * @throws ApplicationFailure, retryable, for whatever is neither success nor gone; the reason of the signal.
 */
export async function post(
  url: string,
  { body }: WebhookMessage,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<'delivered' | 'gone'> {
  const receiver = withoutQuery(url);
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const answer = await request(url, {
    method: 'POST',
    headers: { ...headers, 'user-agent': 'longhaul' },
    body,
    signal: AbortSignal.any([signal, timeout]),
  }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw notDelivered(
      `${receiver} ${timeout.aborted ? `did not answer within ${TIMEOUT_MS / 1000} s` : whyNot(error)}.`,
    );
  });
  const { statusCode: status } = answer;
  const retryAfterMs = BUSY.includes(status) ? readRetryAfterMs(answer, Date.now()) : null;
  // It does not matter what it says, or whether it comes to an end.
  await answer.body.dump({ limit: ANSWER_MAX_BYTES });
  if (status >= 200 && status < 300) return 'delivered';
  if (status === GONE) return 'gone';
  const note = status >= 300 && status < 400 ? '; redirects are not followed' : '';
  throw notDelivered(`${receiver} answered ${status}${note}.`, retryAfterMs);
}

/** Expected in the life of a system, so it is no error in logs and metrics. */
function notDelivered(message: string, retryAfterMs: number | null = null): ApplicationFailure {
  return ApplicationFailure.create({
    type: 'NOT_DELIVERED',
    message,
    category: ApplicationFailureCategory.BENIGN,
    ...(retryAfterMs === null ? {} : { nextRetryDelay: Math.min(retryAfterMs, MAX_RETRY_AFTER_MS) }),
  });
}

function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}

/** Of the error only the code: its words may repeat the URL. */
function whyNot(error: unknown): string {
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown };
  return `could not be reached (${typeof code === 'string' ? code : name})`;
}
