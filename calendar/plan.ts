/** The pauses that windows make. */

import type { PausePeriod, WindowRule, WindowRules } from '../contract/windows.js';
import { DAY_MS } from './dates.js';
import { occurrencesOf, type Span } from './occurrences.js';
import { between, inOrder, merged } from './spans.js';

/** How far a plan looks ahead: the coming year, with the same season of the next one. */
export const HORIZON_DAYS = 400;

/** A pause is followed so far back to its start, and so far beyond the horizon to its end. */
const REACH_MS = 400 * DAY_MS;

export interface PlanOptions {
  /** At least 1. */
  readonly maxPeriods: number;
  /** Default `HORIZON_DAYS`. */
  readonly horizonDays?: number;
}

export interface PausePlan {
  /**
   * In their order, never touching. One that is open at the beginning of the plan has its true start,
   * unless that is more than 400 days ago.
   */
  readonly periods: readonly PausePeriod[];
  /** No pause but these begins before this instant. ISO 8601, UTC. */
  readonly plannedUntil: string;
  /** The last of the periods goes on for more than 400 days beyond the horizon; its `end` is where the search ended. */
  readonly endless: boolean;
}

/**
 * The pauses that windows make from an instant on: the same for the same zone data, whatever the time now.
 * @param fromIso ISO 8601 with its offset.
 * @throws RangeError for an instant that is none, or a zone that the data has not.
 */
export function planPauses(
  rules: WindowRules,
  fromIso: string,
  { maxPeriods, horizonDays = HORIZON_DAYS }: PlanOptions,
): PausePlan {
  const fromMs = Date.parse(fromIso);
  if (Number.isNaN(fromMs)) throw new RangeError(`"${fromIso}" is not an instant.`);
  const horizonMs = fromMs + horizonDays * DAY_MS;
  const reachMs = horizonMs + REACH_MS;
  const periods: PausePeriod[] = [];
  let lastEndMs = Number.NEGATIVE_INFINITY;
  for (const pause of pausesOf(rules, fromMs - REACH_MS, reachMs)) {
    if (pause.endMs <= fromMs) continue;
    if (pause.startMs >= horizonMs || periods.length >= maxPeriods) break;
    lastEndMs = Math.min(pause.endMs, reachMs);
    periods.push(toPeriod(pause, lastEndMs));
    // The next one need not be looked for.
    if (periods.length >= maxPeriods) break;
  }
  const untilMs = periods.length >= maxPeriods ? lastEndMs : Math.max(horizonMs, lastEndMs);
  return { periods, plannedUntil: toIso(untilMs), endless: lastEndMs >= reachMs };
}

/** Whether windows leave a job any time to run in the 400 days from `fromIso` on. */
export function leavesTimeToRun(rules: WindowRules, fromIso: string): boolean {
  // Only a pause that is open at the beginning matters, and that one is followed far enough.
  const [first] = planPauses(rules, fromIso, { maxPeriods: 1, horizonDays: 1 }).periods;
  if (first === undefined) return true;
  const fromMs = Date.parse(fromIso);
  return Date.parse(first.start) > fromMs || Date.parse(first.end) < fromMs + HORIZON_DAYS * DAY_MS;
}

function pausesOf(
  { pauseWindows, runWindows }: WindowRules,
  fromMs: number,
  untilMs: number,
): Generator<Span> {
  const opened = (rules: readonly WindowRule[]) => rules.map((rule) => occurrencesOf(rule, fromMs, untilMs));
  const [firstRun] = runWindows;
  if (firstRun === undefined) return merged(inOrder(opened(pauseWindows)));
  const notRunning = between(merged(inOrder(opened(runWindows))), fromMs, {
    reasons: [outsideRunWindows(runWindows)],
    timezone: firstRun.timezone,
  });
  return merged(inOrder([notRunning, ...opened(pauseWindows)]));
}

function outsideRunWindows(runWindows: readonly WindowRule[]): string {
  const reasons = new Set(runWindows.flatMap(({ reason }) => (reason === null ? [] : [reason])));
  return reasons.size === 0
    ? 'outside the run windows'
    : `outside the run windows (${[...reasons].join(', ')})`;
}

function toPeriod({ startMs, reasons, timezone }: Span, endMs: number): PausePeriod {
  return {
    start: toIso(startMs),
    end: toIso(endMs),
    reason: reasons.length === 0 ? null : reasons.join(', '),
    timezone,
  };
}

function toIso(ms: number): string {
  return new Date(ms).toISOString();
}
