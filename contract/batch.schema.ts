/** The one place where a batch document is checked. Its job template is checked with each item put into it. */

import { z } from 'zod';
import { type BatchPolicy, MAX_CONCURRENCY, type PriorityKey, type StopRule } from './batch.js';
import { type Checked, problemsOf } from './problems.schema.js';

/** With the item's ID it makes a job ID, which is the workflow's, of at most 200 characters. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,89}$/;

const UNITS_SECONDS: Record<string, number> = { s: 1, m: 60, h: 3600 };

const concurrency = z
  .int({ error: 'expected a whole number without quotes' })
  .refine((value) => value >= 1 && value <= MAX_CONCURRENCY, {
    error: `must be between 1 and ${MAX_CONCURRENCY}`,
  });

const rate = z
  .union([z.literal('unlimited'), z.string()], { error: 'expected a rate such as "5/s", or "unlimited"' })
  .transform((text, context): number | null => {
    if (text === 'unlimited') return null;
    const [, count = '', unit = ''] = /^(\d+(?:\.\d+)?)\/(s|m|h)$/.exec(text.replace(/\s/g, '')) ?? [];
    const perSecond = Number(count) / (UNITS_SECONDS[unit] ?? Number.NaN);
    if (perSecond > 0 && perSecond <= 1000) return perSecond;
    context.addIssue({
      code: 'custom',
      message: `"${text}" is not a rate; write e.g. "5/s", "30/m" or "100/h", at most 1000/s`,
    });
    return z.NEVER;
  });

const stopAfter = z
  .union([z.number(), z.string()], { error: 'expected a number of failures, "5%" or "never"' })
  .transform((value, context): StopRule | null => {
    if (value === 'never') return null;
    const percent = typeof value === 'string' ? /^(\d+(?:\.\d+)?)\s*%$/.exec(value)?.[1] : undefined;
    if (percent !== undefined && Number(percent) > 0 && Number(percent) < 100) {
      return { percent: Number(percent) };
    }
    if (typeof value === 'number' && Number.isInteger(value) && value >= 1) return { failures: value };
    context.addIssue({
      code: 'custom',
      message: `${JSON.stringify(value)} must be a number of failures from 1, a share such as "5%", or "never"`,
    });
    return z.NEVER;
  });

const batchId = z.string().regex(NAME, {
  error:
    'may have letters, digits and . _ - (no slash), begins with a letter or digit, and is at most 90 characters long',
});

const document = z.strictObject({
  id: batchId.optional(),
  items: z.union([z.string().min(1), z.array(z.unknown())], {
    error: 'expected the name of a file (.jsonl, .json, .csv), or a list',
  }),
  itemId: z.string().min(1, { error: 'must not be empty' }).optional(),
  concurrency: concurrency.default(50),
  rate: rate.prefault('unlimited'),
  stopAfter: stopAfter.prefault('never'),
  priority: z
    .int({ error: 'expected a whole number from 1 (first) to 5 (last)' })
    .refine((value) => value >= 1 && value <= 5, { error: 'must be between 1 (first) and 5 (last)' })
    .transform((value) => value as PriorityKey)
    .prefault(4),
  job: z
    .looseObject(
      {
        id: z.never({ error: "is not allowed: a job's ID is made of the batch's and the item's" }).optional(),
      },
      { error: 'expected a job spec' },
    )
    .transform((job): Record<string, unknown> => job),
});

/** What people may write in a batch file or hand to `batches.submit`. */
export type BatchSource = z.input<typeof document>;

/** A checked batch, whose items still have to be read. */
export type BatchDocument = z.output<typeof document>;

export function checkBatch(source: unknown): Checked<BatchDocument> {
  return checked(document, source, 'a batch');
}

const changes = z.strictObject({
  concurrency: concurrency.optional(),
  rate: rate.optional(),
  stopAfter: stopAfter.optional(),
});

export type BatchChangesSource = z.input<typeof changes>;

export function checkBatchChanges(source: unknown): Checked<Partial<BatchPolicy>> {
  const read = checked(changes, source, 'the policy of a batch');
  if (!read.ok) return read;
  const { concurrency: limit, rate: ratePerSecond, stopAfter: rule } = read.value;
  return {
    ok: true,
    value: {
      ...(limit === undefined ? {} : { concurrency: limit }),
      ...(ratePerSecond === undefined ? {} : { ratePerSecond }),
      ...(rule === undefined ? {} : { stopAfter: rule }),
    },
  };
}

export function policyOf({
  concurrency: limit,
  rate: ratePerSecond,
  stopAfter: rule,
}: BatchDocument): BatchPolicy {
  return { concurrency: limit, ratePerSecond, stopAfter: rule };
}

export function isItemId(text: string): boolean {
  return NAME.test(text);
}

function checked<T extends z.ZodType>(schema: T, source: unknown, what: string): Checked<z.output<T>> {
  const parsed = schema.safeParse(source);
  if (parsed.success) return { ok: true, value: parsed.data };
  return { ok: false, problems: parsed.error.issues.flatMap((issue) => problemsOf(issue, what)) };
}
