/** Checks windows: each for itself, and what all of them together leave to a job. */

import { z } from 'zod';
import { leavesTimeToRun, parseWindowRule } from '../calendar/index.js';
import type { SpecProblem } from './problems.schema.js';
import type { WindowRule, WindowRules, WindowSource } from './windows.js';

const MAX_WINDOWS = 50;

const EXAMPLE = '[{ from: "22:00", to: "06:00", timezone: Europe/Berlin }]';

const windowRule = z.custom<WindowSource>().transform((source, context): WindowRule => {
  const parsed = parseWindowRule(source);
  if (parsed.ok) return parsed.rule;
  for (const { path, message } of parsed.problems) {
    context.addIssue({ code: 'custom', path: [...path], message });
  }
  return z.NEVER;
});

/** `pauseWindows` or `runWindows`: from what people write to rules that are trusted. */
export const windowRules = z
  .array(windowRule, { error: `expected a list of windows, such as ${EXAMPLE}` })
  .max(MAX_WINDOWS, { error: `has more than ${MAX_WINDOWS} windows` });

/** Windows that would hold a job all of the time from `now` on (ISO 8601) are a mistake, never meant. */
export function checkWindows({ pauseWindows, runWindows }: WindowRules, now: string): SpecProblem[] {
  if (leavesTimeToRun({ pauseWindows, runWindows }, now)) return [];
  if (!leavesTimeToRun({ pauseWindows: [], runWindows }, now)) {
    const message = 'the job would never run: none of these is open in the coming 400 days';
    return [{ path: 'runWindows', message }];
  }
  const what = runWindows.length === 0 ? 'leave it no time' : 'cover all of its run windows';
  const message = `the job would never run: these ${what} in the coming 400 days`;
  return [{ path: 'pauseWindows', message }];
}
