/**
 * The one place where a job spec is checked. What comes out is complete and trusted by everything else.
 * Files may still name their source (`from`); the client reads them, since only it knows the folder.
 */

import { z } from 'zod';
import { cpu, duration, port, size, urlPath } from './fields.schema.js';
import { settingsFields, settingsProblems, toSettings } from './job-settings.schema.js';
import type { JobSpec } from './job-spec.js';
import { type Checked, problemsOf } from './problems.schema.js';

/** Files travel inside the entrypoint, and one argument of a process is at most 128 KiB on Linux. */
export const FILES_MAX_BYTES = 64 * 1024;

const MIN_MEMORY_BYTES = 4 * 2 ** 20;
const MAX_MEMORY_BYTES = 16 * 2 ** 40;
const MAX_ENV_BYTES = 96 * 1024;

const argument = z
  .string({ error: 'expected a string; write numbers in quotes' })
  .refine((text) => !text.includes('\0'), { error: 'must not contain a NUL character' });

const envName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: 'is not a name for an environment variable' })
  .refine((name) => !name.startsWith('LONGHAUL_'), {
    error: 'is reserved: names that begin with LONGHAUL_ are set by Longhaul itself',
  });

const env = z
  .record(envName, argument, { error: 'expected names with values, such as { DEPTH: "3" }' })
  .refine((variables) => JSON.stringify(variables).length <= MAX_ENV_BYTES, {
    error: `is larger than ${MAX_ENV_BYTES / 1024} KiB in all`,
  });

const workspaceFile = z
  .strictObject({
    path: z.string().superRefine((path, context) => {
      if (!path.startsWith('/workspace/') || path.endsWith('/') || /\/\.{1,2}(\/|$)|\/\/|\0/.test(path)) {
        context.addIssue({ code: 'custom', message: `"${path}" must be a plain path below /workspace/` });
      }
    }),
    from: z.string().min(1).optional(),
    content: argument.optional(),
  })
  .refine((file) => (file.from === undefined) !== (file.content === undefined), {
    error: 'needs exactly one of "from" (a file beside the spec) and "content"',
  });

const files = z.array(workspaceFile).superRefine((entries, context) => {
  const seen = new Set<string>();
  entries.forEach((file, index) => {
    if (seen.has(file.path))
      context.addIssue({ code: 'custom', path: [index, 'path'], message: `"${file.path}" is there twice` });
    seen.add(file.path);
  });
});

const persistence = z.union(
  [
    z.literal(false),
    z.strictObject({
      storageClass: z.string().min(1).default('local-path'),
      size: size(MIN_MEMORY_BYTES, 2 ** 50, 'between 4Mi and 1024Ti').default('5Gi'),
    }),
  ],
  { error: 'expected false, or an object such as { storageClass: local-path, size: 5Gi }' },
);

const document = z.strictObject({
  id: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._/-]*$/, {
      error: 'may have letters, digits and . _ / - and begins with a letter or digit',
    })
    .max(200, { error: 'is longer than 200 characters' })
    .optional(),
  sandbox: z.strictObject({
    image: z
      .string()
      .min(1, { error: 'must not be empty' })
      .regex(/^\S+$/, { error: 'must not contain white space' }),
    entrypoint: z.array(argument).min(1, { error: 'needs at least the program to start' }),
    env: env.default({}),
    files: files.default([]),
    resources: z
      .strictObject({
        cpu: cpu.default('1'),
        memory: size(MIN_MEMORY_BYTES, MAX_MEMORY_BYTES, 'between 4Mi and 16Ti').default('512Mi'),
      })
      .prefault({}),
    persistence: persistence.prefault({}),
  }),
  checkpoint: z
    .strictObject({
      port: port.default(8000),
      path: urlPath.default('state.json'),
      every: duration(200, 3_600_000, 'between 200ms and 1h').prefault('5s'),
      stallAfter: duration(1000, 30 * 86_400_000, 'between 1s and 30d').prefault('15m'),
    })
    .prefault({}),
  drain: z
    .strictObject({
      port: port.optional(),
      path: urlPath.default('drain'),
      timeout: duration(100, 600_000, 'between 100ms and 10m').prefault('30s'),
    })
    .optional(),
  input: z.strictObject({ port: port.optional(), path: urlPath.default('input') }).optional(),
  ...settingsFields,
});

/** A checked spec whose files may still have to be read. */
export type JobSpecDocument = z.output<typeof document>;

/** What people may write in a spec file or hand to `submit`. */
export type JobSpecSource = z.input<typeof document>;

/** Checks what somebody wrote; names every problem, not just the first. */
export function checkJobSpec(source: unknown): Checked<JobSpecDocument> {
  const parsed = document.safeParse(source);
  if (!parsed.success) {
    return { ok: false, problems: parsed.error.issues.flatMap((issue) => problemsOf(issue, 'a job spec')) };
  }
  const { every, stallAfter } = parsed.data.checkpoint;
  const problems = [...settingsProblems(toSettings(parsed.data), new Date().toISOString())];
  if (stallAfter < 2 * every) {
    problems.push({
      path: 'checkpoint.stallAfter',
      message: 'must be at least twice as long as checkpoint.every',
    });
  }
  return problems.length === 0 ? { ok: true, value: parsed.data } : { ok: false, problems };
}

/** The files of a spec that may be wrong elsewhere, so that all its problems can be named at once. */
export function filesNamedBy(source: unknown): JobSpecDocument['sandbox']['files'] {
  const parsed = z.looseObject({ sandbox: z.looseObject({ files }) }).safeParse(source);
  return parsed.success ? parsed.data.sandbox.files : [];
}

/** The trusted spec, once the contents of its files are known (in their order). */
export function toJobSpec(checked: JobSpecDocument, contents: readonly string[]): JobSpec {
  const { sandbox, checkpoint, drain, input } = checked;
  return {
    id: checked.id ?? null,
    sandbox: {
      image: sandbox.image,
      entrypoint: sandbox.entrypoint,
      env: sandbox.env,
      files: sandbox.files.map((file, index) => ({ path: file.path, content: contents[index] ?? '' })),
      resources: sandbox.resources,
      persistence: sandbox.persistence === false ? null : sandbox.persistence,
    },
    checkpoint: {
      port: checkpoint.port,
      path: checkpoint.path,
      everyMs: checkpoint.every,
      stallAfterMs: checkpoint.stallAfter,
    },
    drain:
      drain === undefined
        ? null
        : { port: drain.port ?? checkpoint.port, path: drain.path, timeoutMs: drain.timeout },
    input: input === undefined ? null : { port: input.port ?? checkpoint.port, path: input.path },
    settings: toSettings(checked),
  };
}
