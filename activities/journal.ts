/** Adds events to the event log of a job. */

import { Context } from '@temporalio/activity';
import type { RecordEventsInput } from '../contract/activities.js';
import { appendEvents } from '../store/journal.js';
import type { Dependencies } from './dependencies.js';

export function recordEventsWith({ store }: Pick<Dependencies, 'store'>) {
  return ({ owner, events }: RecordEventsInput): Promise<void> =>
    appendEvents(store, owner, events, Context.current().cancellationSignal);
}
