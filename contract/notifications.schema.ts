/** Checks the `notify` entries of a spec. */

import { z } from 'zod';
import type { NotifySpec } from './notifications.js';
import { JOB_EVENT_NAMES } from './timeline.js';

const MAX_RECEIVERS = 10;
/** What belongs to Longhaul itself, or to the infrastructure around it. */
const RESERVED = /^(OPEN_SANDBOX|TEMPORAL|LONGHAUL|AWS)_/;

const url = z.string({ error: 'expected a URL' }).superRefine((text, context) => {
  const problem = (message: string) => context.addIssue({ code: 'custom', message });
  let parsed: URL;
  try {
    parsed = new URL(text);
  } catch {
    return problem(`"${text}" is not a URL`);
  }
  if (!['http:', 'https:'].includes(parsed.protocol)) problem('must begin with https:// or http://');
  if (parsed.username !== '' || parsed.password !== '')
    problem('must not contain a password; sign the messages with "secretEnv" instead');
});

/** `env:NAME` of the worker's environment (also without `env:`), or `file:/path` on its machine. */
export const secretReference = z
  .string({ error: 'expected a reference such as "env:HOOK_SECRET"' })
  .transform((text) => (/^[A-Za-z_][A-Za-z0-9_]*$/.test(text) ? `env:${text}` : text))
  .superRefine((text, context) => {
    const name = /^env:([A-Za-z_][A-Za-z0-9_]*)$/.exec(text)?.[1];
    if (name === undefined && !/^file:\/[^\0]+$/.test(text)) {
      const message = `"${text}" is no reference; write "env:NAME" or "file:/path"`;
      context.addIssue({ code: 'custom', message });
    } else if (name !== undefined && RESERVED.test(name)) {
      context.addIssue({ code: 'custom', message: `"${name}" is reserved and cannot be handed out` });
    }
  });

const events = z.array(
  z.enum(JOB_EVENT_NAMES, {
    error: ({ input }) => `"${String(input)}" is no event; there are ${JOB_EVENT_NAMES.join(', ')}`,
  }),
);

export const notifySpecs = z
  .array(
    z
      .strictObject({
        url,
        events: events.min(1, { error: 'names no event; leave it out for all' }).optional(),
        secretEnv: secretReference.optional(),
      })
      .transform(
        (given): NotifySpec => ({
          url: given.url,
          events: given.events ?? null,
          secretEnv: given.secretEnv ?? null,
        }),
      ),
    { error: 'expected a list such as [{ url: "https://…", events: [paused, failed] }]' },
  )
  .max(MAX_RECEIVERS, { error: `has more than ${MAX_RECEIVERS} receivers` })
  .refine((targets) => new Set(targets.map(({ url: each }) => each)).size === targets.length, {
    error: 'names the same URL twice; list all its events in one entry',
  });
