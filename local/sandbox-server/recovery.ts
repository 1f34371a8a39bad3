/** What a new server does first with a sandbox of one that ended at any instant. */

import { dropFrozen, finishPause, resumeFrozen } from './pausing.js';
import { isOfEarlierBoot } from './processes.js';
import { type SandboxRecord, transition } from './record.js';
import type { Steps } from './steps.js';

/**
 * What was about to be done is done; what runs goes on running, and what is frozen stays so.
 * @returns the work, or `null` when nothing needs to be done.
 */
export function recovery(
  steps: Steps,
  record: SandboxRecord,
  onExit: () => void,
): (() => Promise<void>) | null {
  const hasProcesses = steps.isRunning(record);
  const isEarlierBoot = record.outer !== null && isOfEarlierBoot(record.outer);
  switch (record.state) {
    case 'Pausing':
      return () => finishPause(steps, record);
    case 'Resuming':
    case 'Pending':
      if (record.frozen === null) return () => steps.finishStart(record, onExit);
      return async () =>
        hasProcesses ? resumeFrozen(steps, record) : await steps.startOrFail(record, onExit);
    case 'Paused':
      // Those of a machine that was started anew are gone through no fault of the agent.
      return record.frozen !== null && (record.stoppedWithServer || isEarlierBoot)
        ? () => dropFrozen(steps, record)
        : null;
    case 'Running':
      if (!hasProcesses && (record.stoppedWithServer || isEarlierBoot)) {
        Object.assign(record, { outer: null, init: null });
        transition(record, 'Pending', 'Restarting', 'The server is back; the entrypoint is started again.');
        steps.save(record);
        return () => steps.startOrFail(record, onExit);
      }
      record.stoppedWithServer = false;
      return null;
    case 'Failed':
    case 'Terminated':
      return null;
  }
}
