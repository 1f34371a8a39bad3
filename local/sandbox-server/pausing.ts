/** The two kinds of pause, and what ends them. As all steps, each may be taken again after a kill. */

import { freeze, freezerFor } from './freezer.js';
import { emptyWorkspace } from './home.js';
import { type SandboxRecord, transition } from './record.js';
import { STOP_GRACE_MS } from './runner.js';
import { messageOf, type Steps } from './steps.js';

/** Settles, before anything is done, in which way it will be: a killed server's pause is ended in its own. */
export function beginPause(steps: Steps, record: SandboxRecord): void {
  const { pauseKind, cgroups } = steps.machine;
  record.frozen = pauseKind === 'frozen' ? freezerFor(cgroups, record.id) : null;
  transition(record, 'Pausing', 'Pausing', 'The sandbox is being paused.', {
    keepsTime: record.frozen !== null,
  });
  steps.save(record);
}

/**
 * From `Pausing` to `Paused`; a pause that fails falls back to `Running`, as upstream's does.
 * @param settle is awaited before `Paused` is shown.
 */
export async function finishPause(
  steps: Steps,
  record: SandboxRecord,
  settle = async () => {},
): Promise<void> {
  try {
    if (record.frozen === null) await endPod(steps, record);
    else await freeze(record.frozen, steps.machine, steps.placeOf(record), record);
  } catch (error) {
    failPause(steps, record, messageOf(error));
    throw error;
  }
  await settle();
  if (record.frozen !== null) {
    transition(record, 'Paused', 'CONTAINER_PAUSED', 'Sandbox container is paused.', { keepsTime: true });
  } else {
    const kept = record.spec.persistent ? 'is retained.' : 'was not persistent and is empty now.';
    transition(record, 'Paused', 'PodDeleted', `All processes have ended; /workspace ${kept}`);
  }
  steps.save(record);
}

export function failPause(steps: Steps, record: SandboxRecord, why: string): void {
  record.frozen = null;
  transition(record, 'Running', 'PAUSE_FAILED', why);
  steps.save(record);
}

async function endPod(steps: Steps, record: SandboxRecord): Promise<void> {
  await steps.endProcesses(record, STOP_GRACE_MS);
  if (!record.spec.persistent) emptyWorkspace(steps.placeOf(record));
  Object.assign(record, { outer: null, init: null });
}

/** From `Resuming` to `Running` for frozen processes. */
export function resumeFrozen(steps: Steps, record: SandboxRecord): void {
  steps.thaw(record);
  record.frozen = null;
  transition(record, 'Running', 'DependenciesReady', 'Pod is Ready; Service Exists', { keepsTime: true });
  steps.save(record);
}

/** Ends frozen processes: what remains is paused as if they had never been kept. */
export async function dropFrozen(steps: Steps, record: SandboxRecord): Promise<void> {
  await steps.endProcesses(record, STOP_GRACE_MS);
  Object.assign(record, { outer: null, init: null, frozen: null, stoppedWithServer: false });
  steps.save(record);
}
