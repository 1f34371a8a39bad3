/** Deletes sandboxes that nobody owns, each until the API says that it is gone. */

import { removeOne } from '../delete-sandboxes.js';
import type { Dependencies } from '../dependencies.js';
import { heartbeatWhile } from '../heartbeats.js';

export function deleteOrphansWith({ api }: Pick<Dependencies, 'api'>) {
  return async function deleteOrphans({
    sandboxIds,
  }: {
    readonly sandboxIds: readonly string[];
  }): Promise<string[]> {
    for (const id of sandboxIds) await heartbeatWhile(removeOne(api, id));
    return [...sandboxIds];
  };
}
