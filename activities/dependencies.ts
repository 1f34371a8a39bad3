/** What the activities are given; nothing here is read from the environment. */

import type { Client } from '@temporalio/client';
import type { WatchProfile } from '../contract/activities.js';
import type { Store } from '../store/types.js';
import type { SandboxApi, SandboxFiles } from './sandbox-api/index.js';
import type { SecretSource } from './secret-references.js';
import type { LocalWatches } from './watch/local-watches.js';

export interface Dependencies {
  readonly api: SandboxApi;
  readonly files: SandboxFiles;
  readonly store: Store;
  /** Asks and lists workflows. */
  readonly client: Client;
  readonly secrets: SecretSource;
  readonly profile: WatchProfile;
  /** Temporal namespace, part of the labels of sandboxes. */
  readonly namespace: string;
  /** The watches of this process. */
  readonly watches: LocalWatches;
}
