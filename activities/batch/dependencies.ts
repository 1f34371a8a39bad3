/** What the activities of batches are given. */

import type { Client } from '@temporalio/client';
import type { Store } from '../../store/types.js';
import type { BatchPages } from './pages.js';

export interface BatchDependencies {
  /** Starts, steers and asks jobs. On the worker's own `NativeConnection`, else no start can be eager. */
  readonly client: Client;
  readonly store: Store;
}

export interface BatchContext extends BatchDependencies {
  readonly pages: BatchPages;
}

/** In the memo of every job of a batch: whose it is. */
export interface BatchMemo {
  readonly folder: string;
  readonly position: number;
}
