/** Whether a sandbox can be reached at all. */

import { ApiError } from './errors.js';
import type { SandboxRecord } from './record.js';

/** @throws ApiError in the way of the runtime that pauses like this: a frozen sandbox can be connected to. */
export function refuseUnreachable({ id, state, frozen }: SandboxRecord): void {
  if (state === 'Failed' || state === 'Terminated') {
    const message = `Sandbox ${id} has exited and has no network.`;
    throw new ApiError(500, 'LOCAL::NETWORK_MODE_ENDPOINT_UNAVAILABLE', message);
  }
  if (state === 'Running' || frozen !== null) return;
  throw new ApiError(404, 'LOCAL::POD_IP_NOT_AVAILABLE', `Sandbox ${id} is ${state} and has no network now.`);
}
