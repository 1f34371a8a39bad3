/** Checks the `notify` entries of a spec. */

import { z } from 'zod';
import type { NotifySpec } from './notifications.js';
import { parseSecretReference, secretIn } from './secrets.js';
import { JOB_EVENT_NAMES } from './timeline.js';

const MAX_RECEIVERS = 10;
/** It is kept in the history of the job. */
const MAX_URL_CHARS = 2000;

const url = z.string({ error: 'expected a URL in quotes' }).superRefine((text, context) => {
  const problem = (message: string) => context.addIssue({ code: 'custom', message });
  if (text.length > MAX_URL_CHARS) return problem(`must have at most ${MAX_URL_CHARS} characters`);
  // It is not repeated, since it may hold a password or a token.
  if (!URL.canParse(text)) return problem('is not a URL; write e.g. "https://hooks.example.org/longhaul"');
  const { protocol, username, password } = new URL(text);
  if (!['http:', 'https:'].includes(protocol)) problem('must begin with https:// or http://');
  if (username !== '' || password !== '')
    problem('must not contain a password; sign the messages with "secretEnv" instead');
});

/** `env:NAME` of the worker's environment (also without `env:`), or `file:/path` on its machine. */
export const secretReference = z
  .string({ error: 'expected a reference such as "env:HOOK_SECRET"' })
  .superRefine((text, context) => {
    const problem = (message: string) => context.addIssue({ code: 'custom', message });
    if (text.startsWith('whsec_') || secretIn('', text) !== null)
      return problem('is the secret itself; give it to the worker and write the name of its variable here');
    const parsed = parseSecretReference(withKind(text));
    if (!parsed.ok) problem(parsed.why);
  })
  .transform(withKind);

function withKind(text: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(text) ? `env:${text}` : text;
}

const events = z.array(
  z.enum(JOB_EVENT_NAMES, {
    error: ({ input }) => `"${String(input)}" is no event; there are ${JOB_EVENT_NAMES.join(', ')}`,
  }),
  { error: 'expected a list of events such as [paused, failed]' },
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
