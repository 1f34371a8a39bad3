/** Waiting that ends as soon as something else is to be done. */

import { CancellationScope, condition } from '@temporalio/workflow';
import { advance, nextAlarm } from './clock.js';
import { type Job, now } from './job.js';
import { nextStep, type Step } from './next-step.js';
import { isPlanUsedUp } from './windows.js';

/**
 * Does `work`, but leaves it at once when another step has become due, by a message or by the passing of
 * time. Without `work` it just waits for that.
 */
export async function whileDue<T>(job: Job, step: Step, work?: () => Promise<T>): Promise<T | undefined> {
  const scope = new CancellationScope();
  try {
    return await scope.run(async () => {
      const other = untilNoLongerDue(job, step).then(() => undefined);
      return work === undefined ? await other : await Promise.race([work(), other]);
    });
  } finally {
    scope.cancel();
  }
}

async function untilNoLongerDue({ id, state }: Job, step: Step): Promise<void> {
  for (;;) {
    const from = now();
    advance(state, id, from);
    const isOver = () => nextStep(state, now()).do !== step.do || isPlanUsedUp(state, now());
    if (isOver()) return;
    const alarm = nextAlarm(state, from);
    const hasChanged = () => isOver() || nextAlarm(state, from) !== alarm;
    if (alarm === null) await condition(hasChanged);
    else
      await condition(hasChanged, Date.parse(alarm) - Date.now(), {
        summary: 'until time changes something',
      });
  }
}
