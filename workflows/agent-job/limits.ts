/** Watches the limits of a job: warns in time, and holds the job at a limit until a person has raised it. */

import { LIMIT_NAMES, type LimitName } from '../../contract/job-settings.js';
import { formatDuration } from '../../contract/quantities.js';
import type { LimitUse } from '../../contract/status.js';
import { clearHold, hasHold, putHold } from './holds.js';
import { costOf, costPerHour, readMeter } from './meter.js';
import { type JobState, warn } from './state.js';
import { record } from './timeline.js';

const WARN_AT = 0.8;
const HOUR_MS = 3_600_000;

/** A limit as a straight line: how much of it is used at `now`, and how much more of it each ms takes. */
interface Course {
  readonly used: number;
  readonly perMs: number;
  readonly limit: string;
}

/** Sets and clears the budget hold as the meters stand at `now`. */
export function applyLimits(state: JobState, jobId: string, now: string): void {
  const reached: string[] = [];
  for (const name of LIMIT_NAMES) {
    const course = courseOf(state, name, now);
    if (course === null || state.waived.includes(name)) continue;
    if (course.used >= 1) reached.push(`${name} of ${course.limit}`);
    else if (course.used >= WARN_AT && !state.warnedOf.includes(name)) {
      state.warnedOf = [...state.warnedOf, name];
      const warning = `${Math.round(course.used * 100)} % of ${name} (${course.limit}) is used up.`;
      warn(state, warning);
      record(state, 'limit-warning', warning, now, raise(jobId));
    }
  }
  if (reached.length === 0) {
    clearHold(state, 'budget', 'the limit was raised', now);
    return;
  }
  if (hasHold(state.holds, 'budget')) return;
  const reason = `the limit is reached: ${reached.join(', ')}`;
  putHold(state, { kind: 'budget', by: 'longhaul', reason, since: now, until: null }, now);
  record(state, 'limit-reached', reason, now, raise(jobId));
}

/** The instants at which a warning is due or a limit is reached, if everything goes on as it does now. */
export function limitAlarms(state: JobState, now: string): string[] {
  return LIMIT_NAMES.flatMap((name) => {
    const course = courseOf(state, name, now);
    if (course === null || course.perMs === 0 || state.waived.includes(name)) return [];
    const marks = state.warnedOf.includes(name) ? [1] : [WARN_AT, 1];
    return marks
      .filter((mark) => mark > course.used)
      .map((mark) => Math.ceil((mark - course.used) / course.perMs) + 1)
      .filter((inMs) => inMs < 8e14)
      .map((inMs) => new Date(Date.parse(now) + inMs).toISOString());
  });
}

export function limitUses(state: JobState, now: string): LimitUse[] {
  return LIMIT_NAMES.flatMap((name) => {
    const course = courseOf(state, name, now);
    if (course === null) return [];
    return [{ name, used: course.used, limit: course.limit, waived: state.waived.includes(name) }];
  });
}

/** Lets the job pass the limits that hold it now. */
export function waiveLimits(state: JobState, now: string): void {
  const reached = limitUses(state, now).filter(({ used }) => used >= 1);
  state.waived = [...new Set([...state.waived, ...reached.map(({ name }) => name)])];
}

function courseOf({ settings, meter, startedAt }: JobState, name: LimitName, now: string): Course | null {
  const { runningTimeMs, wallTimeMs, deadline, cost } = settings.limits;
  const wallMs = Date.parse(now) - Date.parse(startedAt);
  switch (name) {
    case 'runningTime': {
      if (runningTimeMs === null) return null;
      const used = readMeter(meter, now).runningMs / runningTimeMs;
      const perMs = meter.current === 'running' ? 1 / runningTimeMs : 0;
      return { used, perMs, limit: formatDuration(runningTimeMs) };
    }
    case 'wallTime':
      if (wallTimeMs === null) return null;
      return { used: wallMs / wallTimeMs, perMs: 1 / wallTimeMs, limit: formatDuration(wallTimeMs) };
    case 'deadline': {
      if (deadline === null) return null;
      // A deadline that is over when the job starts is reached at once.
      const lifeMs = Math.max(1, Date.parse(deadline) - Date.parse(startedAt));
      const used = now >= deadline ? Math.max(1, wallMs / lifeMs) : wallMs / lifeMs;
      return { used, perMs: 1 / lifeMs, limit: deadline };
    }
    case 'cost': {
      const { rates } = settings;
      if (cost === null || rates === null) return null;
      const used = costOf(readMeter(meter, now), rates) / cost;
      const perMs = costPerHour(meter, rates) / HOUR_MS / cost;
      return { used, perMs, limit: `${cost} ${rates.currency}` };
    }
  }
}

function raise(jobId: string): string {
  return `longhaul configure ${jobId} --file job.yaml`;
}
