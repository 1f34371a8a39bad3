/** Looks whether something has come true for which a parked job waits. "Not yet" is a failure that is retried. */

import type { ProbeInput } from '../contract/activities.js';
import type { Dependencies } from './dependencies.js';
import { later, toFailure } from './failures.js';
import { KeyRejectedError, QuotaExceededError } from './sandbox-api/index.js';

export function probeWith({ api }: Dependencies) {
  return async function probe(input: ProbeInput): Promise<void> {
    try {
      switch (input.until) {
        case 'api-accepts-key':
          return await api.checkKey();
        case 'not-paused': {
          const sandbox = await api.get(input.sandboxId);
          if (sandbox?.state !== 'Paused') return;
          throw later('SANDBOX_API_UNREACHABLE', 'The sandbox is still paused.', null);
        }
      }
    } catch (error) {
      // Here a rejected key is what is being waited on, so it must not end the waiting.
      if (error instanceof KeyRejectedError) throw later('API_KEY_REJECTED', error.message, null);
      if (error instanceof QuotaExceededError) throw later('QUOTA_EXCEEDED', error.message, null);
      throw toFailure(error);
    }
  };
}
