/** Checks the secrets of a spec's sandbox: those that are named, and those that should have been. */

import { z } from 'zod';
import { parseSecretReference, secretIn } from './secrets.js';

const reference = z
  .string({ error: 'expected a reference such as "env:OPENAI_API_KEY"' })
  .superRefine((text, context) => {
    const parsed = parseSecretReference(text);
    if (!parsed.ok) context.addIssue({ code: 'custom', message: parsed.why });
  });

/** @param name the rule for names, the same as in `env`. */
export function secretFields(name: z.ZodType<string, string>) {
  return {
    secretEnv: z
      .record(name, reference, {
        error: 'expected names with references, such as { OPENAI_API_KEY: env:OPENAI_API_KEY }',
      })
      .default({}),
    allowLiteralSecrets: z.boolean({ error: 'expected true or false' }).default(false),
  };
}

interface SandboxSecrets {
  readonly entrypoint: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly secretEnv: Readonly<Record<string, string>>;
  readonly allowLiteralSecrets: boolean;
}

/**
 * Refuses names that are in both `env` and `secretEnv`, and literals that look like secrets: whatever is written
 * in a spec is readable in the history of its job. For `superRefine` of the sandbox.
 */
export function refineSecrets(sandbox: SandboxSecrets, context: z.core.$RefinementCtx): void {
  const { entrypoint, env, secretEnv, allowLiteralSecrets } = sandbox;
  const problem = (path: (string | number)[], message: string) =>
    context.addIssue({ code: 'custom', path, message });

  for (const name of Object.keys(secretEnv)) {
    if (Object.hasOwn(env, name)) problem(['secretEnv', name], 'is in "env", too; keep only one of them');
  }
  if (allowLiteralSecrets) return;
  for (const [name, value] of Object.entries(env)) {
    const what = secretIn(name, value);
    if (what === null) continue;
    problem(
      ['env', name],
      `looks like ${what}, and would be readable in the job's history; give it to the worker and name it ` +
        `instead (secretEnv: { ${name}: env:${name} }), or set allowLiteralSecrets: true`,
    );
  }
  entrypoint.forEach((argument, index) => {
    const what = secretIn('', argument);
    if (what === null) return;
    problem(
      ['entrypoint', index],
      `contains ${what}, which would be readable in the job's history; hand it over in "secretEnv", or set ` +
        'allowLiteralSecrets: true',
    );
  });
}
