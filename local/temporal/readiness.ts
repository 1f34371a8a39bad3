/** When a dev server that was just started can be used. */

import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { registerMissing, SearchAttributeConflictError, type ValueTypes } from './search-attributes.js';

/** It takes a second; many at once on a busy machine take longer. */
const UP_WITHIN_MS = 60_000;
const CALL_TIMEOUT_MS = 5_000;
const RETRY_MS = 50;

export interface Expected {
  readonly namespace: string;
  readonly valueTypes: ValueTypes;
}

/**
 * Returns when the server answers, has the namespace, and knows all search attributes.
 * @param ended aborted when the server's process has ended.
 * @throws SearchAttributeConflictError; Error with the last reason when the time is up or the server has ended.
 */
export async function answers(address: string, expected: Expected, ended: AbortSignal): Promise<void> {
  const giveUpAt = Date.now() + UP_WITHIN_MS;
  for (;;) {
    const failure = await tryOnce(address, expected);
    // Asked after the answer: another server at this address may have given it, on whose port ours died.
    if (ended.aborted) throw new Error(String(ended.reason));
    if (failure === null) return;
    if (failure instanceof SearchAttributeConflictError) throw failure;
    if (Date.now() > giveUpAt) {
      throw new Error(`it did not answer within ${UP_WITHIN_MS / 1000} s (${failure.message})`);
    }
    await sleep(RETRY_MS);
  }
}

async function tryOnce(address: string, { namespace, valueTypes }: Expected): Promise<Error | null> {
  try {
    // Connecting asks for the system's info.
    const connection = await Connection.connect({ address, connectTimeout: 1_000 });
    try {
      await connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, async () => {
        await connection.workflowService.describeNamespace({ namespace });
        await registerMissing(connection, namespace, valueTypes);
      });
      return null;
    } finally {
      await connection.close();
    }
  } catch (error) {
    return error as Error;
  }
}
