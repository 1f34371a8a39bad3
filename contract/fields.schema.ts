/** Fields that several documents have in common. */

import { z } from 'zod';
import { parseCpuCores, parseDurationMs, parseSizeBytes } from './quantities.js';

const MAX_CPU_CORES = 1024;

/** A duration in words that comes out in ms. `range` says in words what is allowed. */
export function duration(minMs: number, maxMs: number, range: string) {
  return z.string({ error: 'expected a duration such as "2s" or "15m"' }).transform((text, context) => {
    const durationMs = parseDurationMs(text);
    if (durationMs === undefined) {
      context.addIssue({
        code: 'custom',
        message: `"${text}" is not a duration; write e.g. "500ms", "2s", "15m", "6h"`,
      });
      return z.NEVER;
    }
    if (durationMs < minMs || durationMs > maxMs) {
      context.addIssue({ code: 'custom', message: `"${text}" is out of range; it must be ${range}` });
      return z.NEVER;
    }
    return durationMs;
  });
}

/** A Kubernetes size, kept as it is written. */
export function size(minBytes: number, maxBytes: number, range: string) {
  return z.string({ error: 'expected a size in quotes such as "512Mi"' }).superRefine((text, context) => {
    const sizeBytes = parseSizeBytes(text);
    if (sizeBytes === undefined) {
      const hint = /^\d+m$/.test(text)
        ? `; "m" means thousandths here, did you mean "${text.slice(0, -1)}Mi"?`
        : '';
      context.addIssue({
        code: 'custom',
        message: `"${text}" is not a size; write e.g. "512Mi" or "5Gi"${hint}`,
      });
    } else if (sizeBytes < minBytes || sizeBytes > maxBytes) {
      context.addIssue({ code: 'custom', message: `"${text}" is out of range; it must be ${range}` });
    }
  });
}

/** A Kubernetes CPU quantity, kept as it is written. */
export const cpu = z
  .string({ error: 'expected a CPU quantity in quotes such as "1" or "500m"' })
  .superRefine((text, context) => {
    const cores = parseCpuCores(text);
    if (cores === undefined) {
      context.addIssue({
        code: 'custom',
        message: `"${text}" is not a CPU quantity; write e.g. "1", "0.5" or "500m"`,
      });
    } else if (cores <= 0 || cores > MAX_CPU_CORES) {
      context.addIssue({
        code: 'custom',
        message: `"${text}" is out of range; it must be above 0 and at most ${MAX_CPU_CORES}`,
      });
    }
  });

/** A path within an HTTP server, kept without its leading slash. */
export const urlPath = z
  .string()
  .transform((path) => path.replace(/^\/+/, ''))
  .refine((path) => path.length > 0 && !/(^|\/)\.\.(\/|$)|^[a-z]+:\/\/|[\s#]/.test(path), {
    error: 'must be a plain path such as "state.json"',
  });

export const port = z
  .int({ error: 'expected a whole number without quotes' })
  .refine((value) => value >= 1 && value <= 65_535, { error: 'must be between 1 and 65535' });
