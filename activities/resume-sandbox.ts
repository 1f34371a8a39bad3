/** Resumes a sandbox: drives it to `Running`, and sees for some seconds whether the agent is there again. */

import { heartbeat } from '@temporalio/activity';
import type { ResumeInput, ResumeOutcome, WatchCursor } from '../contract/activities.js';
import type { Dependencies } from './dependencies.js';
import { driveState } from './drive-state.js';
import { tailEvents, tailLogs } from './evidence.js';
import { firstWatch } from './watch/first-watch.js';

/** A volume that is still attached elsewhere takes 6 to 10 minutes to come over. */
const RESUME_DEADLINE_MS = 12 * 60_000;

export function resumeSandboxWith({ api, profile }: Dependencies) {
  return async function resumeSandbox({
    sandbox: { id, incarnation },
    checkpoint,
    cursor = null,
  }: ResumeInput): Promise<ResumeOutcome> {
    const driven = await driveState(api, id, {
      from: 'Paused',
      to: 'Running',
      ask: () => api.resume(id),
      deadlineMs: RESUME_DEADLINE_MS,
    });
    switch (driven.kind) {
      case 'reached': {
        const { requestedAt, observedAt } = driven;
        const sandbox = { id, incarnation: incarnation + 1 };
        const first =
          checkpoint === undefined
            ? {}
            : await firstWatch(
                api,
                { sandbox, checkpoint, profile, cursor: startingAnew(cursor, observedAt) },
                heartbeat,
              );
        return { kind: 'running', requestedAt, observedAt, profile, ...first };
      }
      case 'unsupported':
      case 'refused':
      case 'deadline': {
        const events = await tailEvents(api, id);
        return {
          kind: 'not-resumed',
          message: `${driven.message}${events === null ? '' : ` Its events: ${events}`}`,
        };
      }
      case 'exited':
        return { ...driven, logs: await tailLogs(api, id) };
      case 'lost':
        return driven;
    }
  };
}

/** The clock of the process before does not count for the new one. */
function startingAnew(cursor: WatchCursor | null, now: string): WatchCursor | null {
  return cursor === null ? null : { ...cursor, unchangedSince: now, unreadableReads: 0 };
}
