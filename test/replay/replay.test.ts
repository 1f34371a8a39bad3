/** Jobs that earlier versions started must go on with this one: their recorded histories are replayed. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { beforeAll, describe, expect, inject, it } from 'vitest';

const HISTORIES = join(import.meta.dirname, 'histories');
const names = readdirSync(HISTORIES).filter((file) => file.endsWith('.json'));

beforeAll(() => Runtime.install({ logger: new DefaultLogger('ERROR') }) && undefined);

describe('a recorded history', () => {
  it('is there for every interesting path', () => {
    expect(names.length).toBeGreaterThanOrEqual(7);
  });

  it.each(names)('%s replays without a difference', async (name) => {
    const history = JSON.parse(readFileSync(join(HISTORIES, name), 'utf8'));
    await Worker.runReplayHistory({ workflowBundle: { codePath: inject('workflowBundle') } }, history);
  });

  it('that does not fit is found out', async () => {
    const history = JSON.parse(readFileSync(join(HISTORIES, 'completed.json'), 'utf8'));
    const scheduled = history.events.find((event: { eventType: string }) =>
      event.eventType.endsWith('ACTIVITY_TASK_SCHEDULED'),
    );
    scheduled.activityTaskScheduledEventAttributes.activityType.name = 'somethingElse';
    const replay = Worker.runReplayHistory(
      { workflowBundle: { codePath: inject('workflowBundle') } },
      history,
    );
    await expect(replay).rejects.toThrow(/nondeterminism/i);
  });
});
