/** Short ways to say in tests what windows are and what they make. */

import { type PlanOptions, parseWindowRule, planPauses } from '../../calendar/index.js';
import type { WindowRule, WindowRules, WindowSource } from '../../contract/windows.js';

export function rules(...sources: readonly WindowSource[]): WindowRule[] {
  return sources.map((source) => {
    const parsed = parseWindowRule(source);
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    return parsed.rule;
  });
}

export function pausing(...sources: readonly WindowSource[]): WindowRules {
  return { pauseWindows: rules(...sources), runWindows: [] };
}

export function running(...sources: readonly WindowSource[]): WindowRules {
  return { pauseWindows: [], runWindows: rules(...sources) };
}

/** `2026-10-24T20:00Z..2026-10-25T05:00Z` for each pause. */
export function pauses(
  windows: WindowRules,
  from: string,
  options: PlanOptions = { maxPeriods: 1 },
): string[] {
  return planPauses(windows, from, options).periods.map(
    ({ start, end }) => `${toMinute(start)}..${toMinute(end)}`,
  );
}

/** Hours of the first pause. */
export function hours(windows: WindowRules, from: string): number {
  const [first] = planPauses(windows, from, { maxPeriods: 1 }).periods;
  return first === undefined ? 0 : (Date.parse(first.end) - Date.parse(first.start)) / 3_600_000;
}

export function isPaused(windows: WindowRules, at: string): boolean {
  const [first] = planPauses(windows, at, { maxPeriods: 1 }).periods;
  return first !== undefined && Date.parse(first.start) <= Date.parse(at);
}

/** Every problem of one window, as `field: message`. */
export function problemsOf(source: unknown): string[] {
  const parsed = parseWindowRule(source);
  return parsed.ok ? [] : parsed.problems.map(({ path, message }) => `${path.join('.')}: ${message}`);
}

function toMinute(iso: string): string {
  return iso.replace(':00.000Z', 'Z');
}
