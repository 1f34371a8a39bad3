/** Who wants to hear what happens to a job. */

import type { JobEventName } from './timeline.js';

export interface NotifySpec {
  readonly url: string;
  /** `null`: all of them. */
  readonly events: readonly JobEventName[] | null;
  /** Reference to the secret that signs the messages, e.g. `env:HOOK_SECRET`; `null`: they are not signed. */
  readonly secretEnv: string | null;
}
