/** What a fault rule may say: the body of `POST /__faults`. */

import { z } from 'zod';
import { RequestShapeError } from '../errors.js';

/** The longest delay that a timer can hold, about 24.8 days. */
const MAX_MS = 2 ** 31 - 1;
/** How far back the states of sandboxes are remembered. */
export const MAX_STALE_MS = 600_000;

const ms = z.int().min(0).max(MAX_MS);
/** Whether the work is done although its answer goes wrong: what makes a create ambiguous. */
const when = z.enum(['before', 'after']).default('before');

const faultSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('latency'), ms }),
  z.strictObject({
    kind: z.literal('status'),
    status: z.int().min(400).max(599),
    when,
    format: z.enum(['json', 'html', 'text', 'empty']).default('json'),
    /** Of the JSON body; default: the one that fits the status. */
    code: z.string().optional(),
    /** As it is, also nonsense. */
    retryAfter: z.string().optional(),
  }),
  z.strictObject({ kind: z.literal('drop'), when }),
  z.strictObject({
    kind: z.literal('truncate'),
    bytes: z.int().min(0),
    /** `broken`: the connection ends too early; `whole`: the short body looks like all of it. */
    framing: z.enum(['broken', 'whole']).default('broken'),
  }),
  z.strictObject({ kind: z.literal('stale'), ms: z.int().min(1).max(MAX_STALE_MS) }),
  z.strictObject({ kind: z.literal('clock-skew'), ms: z.int().min(-MAX_MS).max(MAX_MS) }),
  z.strictObject({ kind: z.literal('pause-falls-back'), afterMs: ms.default(0) }),
  z.strictObject({ kind: z.literal('pausing'), forMs: ms }),
  z.strictObject({ kind: z.literal('resume-ignored') }),
  /** Without `forMs`: for ever. */
  z.strictObject({ kind: z.literal('pending'), forMs: ms.optional() }),
  z.strictObject({ kind: z.literal('lost-sandbox') }),
  z.strictObject({ kind: z.literal('lost-volume') }),
]);

/** A date, or milliseconds from now. */
const instant = z.union([z.iso.datetime({ offset: true }), ms]);

const ruleSchema = z.strictObject({
  fault: faultSchema,
  match: z
    .strictObject({
      method: z.string().toUpperCase().optional(),
      /** Without query and `/v1`; `*` is one segment, `**` any number. Gateway: `/gateway/{id}/{port}/…`. */
      path: z.string().startsWith('/').optional(),
      sandboxId: z.string().optional(),
      metadata: z.record(z.string(), z.string()).optional(),
    })
    .default({}),
  probability: z.number().gt(0).max(1).default(1),
  /** How often it strikes at most; default: no end. */
  count: z.int().min(1).optional(),
  from: instant.optional(),
  until: instant.optional(),
});

const requestSchema = z.strictObject({
  seed: z
    .int()
    .min(0)
    .max(2 ** 32 - 1)
    .optional(),
  rules: z.array(ruleSchema).default([]),
});

export type Fault = z.infer<typeof faultSchema>;
export type FaultRule = z.infer<typeof ruleSchema>;
export type Match = FaultRule['match'];
export type FaultOf<Kind extends Fault['kind']> = Extract<Fault, { kind: Kind }>;

/** @throws RequestShapeError that names each field that is wrong. */
export function parseFaultRequest(body: unknown): z.infer<typeof requestSchema> {
  const parsed = requestSchema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new RequestShapeError(
    parsed.error.issues.map(({ code, path, message }) => ({
      type: code,
      loc: ['body', ...path.map((part) => (typeof part === 'symbol' ? String(part) : part))],
      msg: message,
    })),
  );
}

/** The pattern of a path as a regular expression. */
export function patternOf(path: string): RegExp {
  const source = path
    .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
    .replaceAll('**', '\0')
    .replaceAll('*', '[^/]*')
    .replaceAll('\0', '.*');
  return new RegExp(`^${source}$`);
}
