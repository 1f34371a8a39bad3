/** Copies the workspace at intervals, beside the job's own loop, as long as the sandbox runs. */

import { CancellationScope, condition, isCancellation, sleep } from '@temporalio/workflow';
import { takeSnapshot } from './activities.js';
import { type Job, now } from './job.js';
import { warn } from './state.js';
import { refOf } from './steps.js';
import { record } from './timeline.js';

/** Runs until the workflow ends; a failure of it is told and never ends the job. */
export async function takeSnapshots(job: Job): Promise<void> {
  const { snapshots } = job.spec;
  if (snapshots == null) return;
  for (;;) {
    await condition(() => isRunning(job));
    const scope = new CancellationScope();
    const stopped = condition(() => !isRunning(job)).then(
      () => scope.cancel(),
      () => {},
    );
    await scope
      .run(async () => {
        for (;;) {
          await sleep(dueInMs(job, snapshots.everyMs));
          await takeOne(job);
        }
      })
      .catch((error) => {
        if (CancellationScope.current().consideredCancelled || !isCancellation(error)) throw error;
      });
    await stopped;
  }
}

async function takeOne({ owner, spec, state }: Job): Promise<void> {
  const { sandbox } = state;
  if (sandbox === null || spec.snapshots == null) return;
  const { paths, keep } = spec.snapshots;
  state.snapshotTriedAt = now();
  const step = state.cursor?.checkpoint?.step ?? null;
  const outcome = await takeSnapshot({ owner, sandbox: refOf(sandbox), snapshot: { paths, keep, step } });
  if (outcome.kind === 'not-taken') {
    warn(state, `A snapshot was not taken: ${outcome.message}`);
    return;
  }
  state.snapshot = outcome.snapshot;
  record(state, 'snapshot', `${outcome.snapshot.files} files, ${outcome.snapshot.sizeBytes} bytes`, now());
}

/** The interval runs from the last try, also over a pause. */
function dueInMs({ state }: Job, everyMs: number): number {
  const lastMs = Date.parse(state.snapshotTriedAt ?? now());
  return Math.max(1000, lastMs + everyMs - Date.now());
}

function isRunning({ state }: Job): boolean {
  return state.sandbox?.state === 'running' && state.phase === 'running';
}
