/** Checks the settings of a job: as part of a spec, and as changes to a live job. */

import { z } from 'zod';
import { duration } from './fields.schema.js';
import { DEFAULT_SETTINGS, type JobSettings, NO_LIMITS } from './job-settings.js';
import { notifySpecs } from './notifications.schema.js';
import { type Checked, problemsOf, type SpecProblem } from './problems.schema.js';
import { checkWindows, windowRules } from './windows.schema.js';

const TEN_YEARS_MS = 3650 * 86_400_000;
const longTime = duration(1000, TEN_YEARS_MS, 'between 1s and 3650d');
const amount = z
  .number({ error: 'expected a number without quotes' })
  .min(0, { error: 'must not be negative' })
  .max(1e12, { error: 'is out of range' });

const instant = z
  .string({ error: 'expected a time such as "2026-12-24T18:00:00+01:00"' })
  .transform((text, context) => {
    const ms = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text)
      ? Date.parse(text)
      : Number.NaN;
    if (Number.isNaN(ms)) {
      context.addIssue({
        code: 'custom',
        message: `"${text}" is not a time with its offset; write e.g. "2026-12-24T18:00:00+01:00" or "…Z"`,
      });
      return z.NEVER;
    }
    return new Date(ms).toISOString();
  });

const limits = z.strictObject({
  runningTime: longTime.optional(),
  wallTime: longTime.optional(),
  deadline: instant.optional(),
  cost: amount.refine((value) => value > 0, { error: 'must be above 0' }).optional(),
});

const rates = z.strictObject({
  runningPerHour: amount,
  pausedPerHour: amount.default(0),
  currency: z
    .string()
    .regex(/^\S{1,10}$/, { error: 'expected a short word such as "EUR"' })
    .default('USD'),
});

/** The fields of a spec that may be changed on a live job. */
export const settingsFields = {
  pauseWindows: windowRules.optional(),
  runWindows: windowRules.optional(),
  windowSpread: duration(0, 3_600_000, 'between 0s and 1h').optional(),
  limits: limits.optional(),
  onLimit: z.enum(['ask', 'stop'], { error: 'expected "ask" or "stop"' }).optional(),
  rates: rates.optional(),
  onRegression: z.enum(['warn', 'fail'], { error: 'expected "warn" or "fail"' }).optional(),
  inputGrace: duration(0, 86_400_000, 'between 0s and 1d').optional(),
  notify: notifySpecs.optional(),
};

export const SETTINGS_FIELDS = Object.keys(settingsFields) as readonly (keyof typeof settingsFields)[];

const changes = z.strictObject(settingsFields);
type Changes = z.output<typeof changes>;

/** What people may write as settings, in a spec or in changes to a live job. */
export type JobSettingsSource = z.input<typeof changes>;

/** The settings with the changes made; what the changes do not name stays as it is. */
export function toSettings(changed: Changes, current: JobSettings = DEFAULT_SETTINGS): JobSettings {
  return {
    pauseWindows: changed.pauseWindows ?? current.pauseWindows,
    runWindows: changed.runWindows ?? current.runWindows,
    windowSpreadMs: changed.windowSpread ?? current.windowSpreadMs,
    limits: changed.limits === undefined ? current.limits : toLimits(changed.limits),
    onLimit: changed.onLimit ?? current.onLimit,
    rates: changed.rates ?? current.rates,
    onRegression: changed.onRegression ?? current.onRegression,
    inputGraceMs: changed.inputGrace ?? current.inputGraceMs,
    notify: changed.notify ?? current.notify,
  };
}

/** What is wrong with settings whose fields are each right. `now` is ISO 8601. */
export function settingsProblems(settings: JobSettings, now: string): SpecProblem[] {
  const problems: SpecProblem[] = [...checkWindows(settings, now)];
  const { cost, deadline } = settings.limits;
  if (cost !== null && settings.rates === null) {
    problems.push({ path: 'limits.cost', message: 'needs "rates", from which the cost is reckoned' });
  }
  if (deadline !== null && deadline <= now) {
    problems.push({ path: 'limits.deadline', message: `"${deadline}" is over already` });
  }
  return problems;
}

export interface CheckedSettings {
  readonly settings: JobSettings;
  /** Names of the fields that were named. */
  readonly changed: readonly string[];
}

/** Checks changes to a live job as somebody wrote them. */
export function checkSettingsChanges(
  source: unknown,
  current: JobSettings,
  now: string,
): Checked<CheckedSettings> {
  const parsed = changes.safeParse(source);
  if (!parsed.success) {
    const problems = parsed.error.issues.flatMap((issue) =>
      problemsOf(issue, 'the settings of a job that may be changed while it lives'),
    );
    return { ok: false, problems };
  }
  const changed = Object.keys(parsed.data);
  if (changed.length === 0) {
    return { ok: false, problems: [{ path: '', message: `names none of ${SETTINGS_FIELDS.join(', ')}` }] };
  }
  const settings = toSettings(parsed.data, current);
  const problems = settingsProblems(settings, now);
  return problems.length === 0 ? { ok: true, value: { settings, changed } } : { ok: false, problems };
}

function toLimits({ runningTime, wallTime, deadline, cost }: z.output<typeof limits>): JobSettings['limits'] {
  return {
    ...NO_LIMITS,
    runningTimeMs: runningTime ?? null,
    wallTimeMs: wallTime ?? null,
    deadline: deadline ?? null,
    cost: cost ?? null,
  };
}
