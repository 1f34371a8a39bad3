/**
 * Sends the events of a job to one receiver, in order and at least once each. An attempt goes on where the one
 * before ended, as far as its last heartbeat tells.
 */

import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { DeliverEventsInput, DeliverEventsOutcome } from '../contract/activities.js';
import type { Dependencies } from './dependencies.js';
import { headersOf, messageOf, signingKey } from './webhook-message.js';
import { post } from './webhook-post.js';

/** What an attempt leaves for the next one. */
interface Trail {
  readonly deliveredThrough: number;
}

export function deliverEventsWith({ secrets }: Pick<Dependencies, 'secrets'>) {
  return async function deliverEvents(input: DeliverEventsInput): Promise<DeliverEventsOutcome> {
    const { owner, target, events } = input;
    const context = Context.current();
    const { cancellationSignal } = context;
    const trail: Trail = context.info.heartbeatDetails ?? { deliveredThrough: 0 };
    let { deliveredThrough } = trail;
    const left = events.filter(({ seq }) => seq > deliveredThrough);
    if (left.length === 0) return { deliveredThrough, gone: false };

    const key = target.secretEnv === null ? null : await keyOf(target.secretEnv);
    for (const event of left) {
      cancellationSignal.throwIfAborted();
      const message = messageOf(owner, event);
      const headers = headersOf(message, key, new Date());
      const outcome = await post(target.url, message, headers, cancellationSignal);
      if (outcome === 'gone') return { deliveredThrough, gone: true };
      deliveredThrough = event.seq;
      context.heartbeat({ deliveredThrough } satisfies Trail);
    }
    return { deliveredThrough, gone: false };
  };

  /** @throws ApplicationFailure, retryable: an operator can add or correct the secret meanwhile. */
  async function keyOf(reference: string): Promise<Buffer> {
    const secret = await secrets.resolve(reference).catch((error: Error) => {
      throw ApplicationFailure.create({ type: 'NOT_DELIVERED', message: error.message });
    });
    const key = signingKey(secret);
    if (key !== null) return key;
    const message = `The secret ${reference} begins with "whsec_", but what follows is no base64.`;
    throw ApplicationFailure.create({ type: 'NOT_DELIVERED', message });
  }
}
