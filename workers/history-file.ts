/** Histories as `temporal workflow show --output json` and Temporal's UI write them. */

import { createRequire } from 'node:module';
import proto, { type temporal } from '@temporalio/proto';

export type History = temporal.api.history.v1.IHistory;

/**
 * The worker itself would read JSON with whatever copy of protobufjs is found, and fails where a project has
 * several of them, as it does beside one that needs version 7. This is the copy that the types are made with.
 */
const { fromJson } = createRequire(createRequire(import.meta.url).resolve('@temporalio/proto'))(
  'protobufjs/ext/protojson',
) as {
  fromJson(type: unknown, document: unknown, options: { ignoreUnknownFields: boolean }): History | null;
};

/** @throws TypeError or SyntaxError for a text that is no history; in words for people. */
export function parseHistory(text: string): History {
  const document = JSON.parse(text) as { events?: unknown } | null;
  if (!Array.isArray(document?.events) || document.events.length === 0) {
    throw new TypeError('it is not a history: it has no "events"');
  }
  // Fields of newer servers are of no meaning to this build.
  const history = fromJson(proto.temporal.api.history.v1.History, document, { ignoreUnknownFields: true });
  if (history === null) throw new TypeError('it is not a history');
  return history;
}

/** ID and run of the workflow, as far as its history names them. */
export function identityOf(history: History): {
  readonly workflowId: string | null;
  readonly runId: string | null;
} {
  const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
  return { workflowId: started?.workflowId || null, runId: started?.originalExecutionRunId || null };
}
