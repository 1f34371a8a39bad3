/** Resumes a sandbox: drives it to `Running`. Whether the agent is there again is for the watch to see. */

import type { ResumeInput, ResumeOutcome } from '../contract/activities.js';
import type { Dependencies } from './dependencies.js';
import { driveState } from './drive-state.js';
import { tailEvents, tailLogs } from './evidence.js';

/** A volume that is still attached elsewhere takes 6 to 10 minutes to come over. */
const RESUME_DEADLINE_MS = 12 * 60_000;

export function resumeSandboxWith({ api, profile }: Dependencies) {
  return async function resumeSandbox({ sandbox: { id } }: ResumeInput): Promise<ResumeOutcome> {
    const driven = await driveState(api, id, {
      from: 'Paused',
      to: 'Running',
      ask: () => api.resume(id),
      deadlineMs: RESUME_DEADLINE_MS,
    });
    switch (driven.kind) {
      case 'reached':
        return { kind: 'running', requestedAt: driven.requestedAt, observedAt: driven.observedAt, profile };
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
