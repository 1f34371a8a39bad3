/** How a job ends. */

import type { ErrorCode } from '../../contract/errors.js';

/** Why a job ends. `null` from the functions below: it goes on. */
export type End =
  | { readonly as: 'completed'; readonly result: unknown }
  | { readonly as: 'cancelled' }
  | {
      readonly as: 'failed';
      readonly code: ErrorCode;
      readonly message: string;
      readonly logs: string | null;
    };

export function failed(code: ErrorCode, message: string, logs: string | null = null): End {
  return { as: 'failed', code, message, logs };
}
