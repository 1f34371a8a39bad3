/** The shapes of successful answers. Deployments differ, so only what is needed is asked for. */

import { z } from 'zod';
import type { Sandbox } from './types.js';

const text = z.string().nullish().catch(null);

const sandbox = z
  .object({
    id: z.string().min(1),
    status: z.object({ state: z.string().min(1), reason: text, message: text }),
    image: z.object({ uri: z.string() }).nullish().catch(null),
    createdAt: text,
    metadata: z.record(z.string(), z.string()).nullish().catch(null),
  })
  .transform(
    ({ id, status, image, createdAt, metadata }): Sandbox => ({
      id,
      state: status.state,
      reason: status.reason ?? null,
      message: status.message ?? null,
      image: image?.uri ?? null,
      createdAt: createdAt ?? null,
      metadata: metadata ?? null,
    }),
  );

const page = z.object({
  items: z.array(sandbox),
  pagination: z
    .object({
      hasNextPage: z.boolean().nullish().catch(null),
      pageSize: z.int().positive().nullish().catch(null),
    })
    .nullish()
    .catch(null),
});

/** `undefined` where the body is not that of a sandbox. */
export function parseSandbox(body: Buffer): Sandbox | undefined {
  return sandbox.safeParse(parseJson(body)).data;
}

export interface Page {
  readonly items: readonly Sandbox[];
  /** `null` where the deployment does not say. */
  readonly hasNextPage: boolean | null;
  /** What the deployment takes for a full page, whatever was asked for; `null` where it does not say. */
  readonly pageSize: number | null;
}

/** `undefined` where the body is not a page of a list. */
export function parsePage(body: Buffer): Page | undefined {
  const parsed = page.safeParse(parseJson(body)).data;
  return (
    parsed && {
      items: parsed.items,
      hasNextPage: parsed.pagination?.hasNextPage ?? null,
      pageSize: parsed.pagination?.pageSize ?? null,
    }
  );
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
