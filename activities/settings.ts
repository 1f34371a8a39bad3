/** What a workflow cannot do by itself with a job's settings: check what people write, and read the calendar. */

import { planPauses } from '../calendar/index.js';
import type { CheckSettingsInput, CheckSettingsOutcome, PlanWindowsInput } from '../contract/activities.js';
import type { WindowPlan } from '../contract/job-settings.js';
import { checkSettingsChanges } from '../contract/job-settings.schema.js';

/** A few nights: zone data may be newer when the next ones are planned. */
const PERIODS = 4;

export async function planWindows({ pauseWindows, runWindows, from }: PlanWindowsInput): Promise<WindowPlan> {
  const { periods, plannedUntil } = planPauses({ pauseWindows, runWindows }, from, { maxPeriods: PERIODS });
  return { periods: periods.map(({ start, end, reason }) => ({ start, end, reason })), plannedUntil };
}

export async function checkSettings(input: CheckSettingsInput): Promise<CheckSettingsOutcome> {
  const { changes, current, from } = input;
  const checked = checkSettingsChanges(changes, current, from);
  if (!checked.ok) return { kind: 'refused', problems: checked.problems };
  const { settings, changed } = checked.value;
  const plan = await planWindows({ ...settings, from });
  return { kind: 'accepted', settings, plan, changed };
}
