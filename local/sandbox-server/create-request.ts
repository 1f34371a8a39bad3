/** Reads the body of `POST /sandboxes`, and refuses what a real server refuses, in the same words. */

import { z } from 'zod';
import { parseCpuCores, parseSizeBytes } from '../../contract/quantities.js';
import type { ResourceLimits } from './cgroups.js';
import { ApiError, type FieldIssue, RequestShapeError } from './errors.js';
import { checkMetadata } from './labels.js';
import { type Volume, volumesSchema, workspaceVolume } from './volumes.js';

/** Upstream's default for a container (`PIDs Limit` in its inspect). */
const MAX_PROCESSES = 512;
const MIN_TIMEOUT_SECONDS = 60;
/** MAX_ARG_STRLEN of Linux. */
const MAX_STRING_BYTES = 131_072;
/** Others cannot be handed on by a shell. */
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

const strings = z.record(z.string(), z.string());
/** An entry that is null is as if it were not there. */
const optionalStrings = z
  .record(z.string(), z.string().nullable())
  .nullish()
  .transform((entries): Record<string, string> => {
    const given = Object.entries(entries ?? {}).filter(([, value]) => value !== null);
    return Object.fromEntries(given) as Record<string, string>;
  });
const bodySchema = z.object({
  image: z
    .object({
      uri: z.string().refine((uri) => uri.trim() !== '', 'Value error, image.uri must not be blank'),
    })
    .optional(),
  entrypoint: z.array(z.string()).min(1).optional(),
  resourceLimits: strings.optional(),
  env: optionalStrings,
  metadata: strings.nullish(),
  extensions: strings.nullish(),
  timeout: z.int().min(MIN_TIMEOUT_SECONDS).nullish(),
  volumes: volumesSchema.nullish(),
  snapshotId: z.string().nullish(),
  poolRef: z.unknown().optional(),
  secureAccess: z.boolean().nullish(),
  networkPolicy: z.unknown().optional(),
});

export interface SandboxSpec {
  readonly image: { readonly uri: string };
  readonly entrypoint: readonly string[];
  readonly limits: ResourceLimits;
  readonly env: Readonly<Record<string, string>>;
  readonly metadata: Readonly<Record<string, string>>;
  /** Whether /workspace outlives a pause. */
  readonly persistent: boolean;
  /** What is mounted at /workspace; `null`: a folder of its own. */
  readonly volume: Volume | null;
  /** From creation to deletion, paused or not; `null`: never. */
  readonly timeoutSeconds: number | null;
}

/**
 * @throws RequestShapeError (422) for a body of the wrong shape, ApiError (400) for values of no use.
 */
export function parseCreateRequest(body: unknown): SandboxSpec {
  const parsed = bodySchema.safeParse(body);
  if (!parsed.success) throw new RequestShapeError(parsed.error.issues.map((issue) => toIssue(issue, body)));
  const { image, entrypoint, resourceLimits, env, extensions, timeout } = parsed.data;
  const metadata = parsed.data.metadata ?? {};
  if (image !== undefined && parsed.data.snapshotId != null) {
    throw refused('Exactly one of image or snapshotId must be provided.');
  }
  refuseUnsupported(parsed.data);
  if (image === undefined) throw refused('Exactly one of image or snapshotId must be provided.');
  if (entrypoint === undefined) throw refused('Entrypoint is required when image is provided.');
  if (resourceLimits === undefined) {
    throw refused('resourceLimits is required when poolRef is not provided.');
  }
  for (const name of Object.keys(env)) {
    if (!VARIABLE.test(name)) {
      throw new RequestShapeError([
        { type: 'value_error', loc: ['body', 'env', name], msg: `Must match ${VARIABLE.source}` },
      ]);
    }
  }
  checkStrings([...entrypoint, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)]);
  checkMetadata(metadata);
  const volume = workspaceVolume(parsed.data.volumes ?? []);
  return {
    image: { uri: image.uri },
    entrypoint,
    limits: {
      cpuCores: quantity('cpu', resourceLimits.cpu, parseCpuCores),
      memoryBytes: quantity('memory', resourceLimits.memory, parseMemory),
      maxProcesses: MAX_PROCESSES,
    },
    env,
    metadata,
    persistent: extensions?.persistence === 'true' || volume !== null,
    volume,
    timeoutSeconds: timeout ?? null,
  };
}

/** What asks for another kind of sandbox must not be answered by this one. */
function refuseUnsupported({
  snapshotId,
  poolRef,
  secureAccess,
  networkPolicy,
}: z.infer<typeof bodySchema>): void {
  if (snapshotId != null) {
    throw new ApiError(404, 'SNAPSHOT::NOT_FOUND', `Snapshot ${snapshotId} not found`);
  }
  if (poolRef != null) {
    throw new ApiError(400, 'SANDBOX::UNSUPPORTED_POOL_REF', 'poolRef is not supported by local sandboxes.');
  }
  if (networkPolicy != null) {
    // Whoever asks for isolation must not believe that they have it.
    const message = 'networkPolicy is not supported by local sandboxes; they reach nothing outside anyway.';
    throw new ApiError(400, 'SANDBOX::INVALID_PARAMETER', message);
  }
  if (secureAccess === true) {
    const message = 'secureAccess is not supported by local sandboxes.';
    throw new ApiError(400, 'SANDBOX::INVALID_PARAMETER', message);
  }
}

function refused(message: string): RequestShapeError {
  return new RequestShapeError([{ type: 'value_error', loc: ['body'], msg: `Value error, ${message}` }]);
}

/** What the kernel would refuse, or silently cut at the NUL. */
function checkStrings(values: readonly string[]): void {
  if (values.some((value) => Buffer.byteLength(value) >= MAX_STRING_BYTES)) {
    const message = `No entry of entrypoint or env may be as long as ${MAX_STRING_BYTES} bytes; write a file instead.`;
    throw new ApiError(400, 'SANDBOX::INVALID_PARAMETER', message);
  }
  if (values.some((value) => value.includes('\0'))) {
    throw new ApiError(
      400,
      'SANDBOX::INVALID_PARAMETER',
      'entrypoint and env must not contain NUL characters.',
    );
  }
}

function quantity(name: string, text: string | undefined, parse: (text: string) => number | undefined) {
  if (text === undefined) return null;
  const value = parse(text);
  if (value !== undefined && value > 0) return value;
  throw new ApiError(
    400,
    'SANDBOX::INVALID_PARAMETER',
    `Invalid resourceLimits.${name}: '${text}'; must resolve to a positive resource limit.`,
  );
}

/** Upstream reads the units in any case, and no fractions. */
function parseMemory(text: string): number | undefined {
  const [, digits, unit = '', binary = ''] = /^(\d+)([kmgt]?)(i?)$/i.exec(text) ?? [];
  if (digits === undefined) return undefined;
  const letter = unit.toUpperCase();
  return parseSizeBytes(`${digits}${letter === 'K' && binary === '' ? 'k' : letter}${binary.toLowerCase()}`);
}

/** zod's words for a problem as those of the recorded server. */
function toIssue(issue: z.core.$ZodIssue, body: unknown): FieldIssue {
  const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
  const loc = ['body', ...path];
  if (issue.code === 'invalid_type') {
    if (path.length > 0 && valueAt(body, path) === undefined) {
      return { type: 'missing', loc, msg: 'Field required' };
    }
    switch (issue.expected) {
      case 'string':
        return { type: 'string_type', loc, msg: 'Input should be a valid string' };
      case 'array':
        return { type: 'list_type', loc, msg: 'Input should be a valid list' };
      case 'int':
      case 'number':
        return { type: 'int_type', loc, msg: 'Input should be a valid integer' };
      case 'record':
        return { type: 'dict_type', loc, msg: 'Input should be a valid dictionary' };
      default: {
        const msg = 'Input should be a valid dictionary or object to extract fields from';
        return { type: 'model_attributes_type', loc, msg };
      }
    }
  }
  if (issue.code === 'too_small' && issue.origin === 'array') {
    return { type: 'too_short', loc, msg: 'List should have at least 1 item after validation, not 0' };
  }
  if (issue.code === 'too_small' && issue.origin !== 'string') {
    const msg = `Input should be greater than or equal to ${issue.minimum}`;
    return { type: 'greater_than_equal', loc, msg };
  }
  if (issue.code === 'too_big' && issue.origin === 'string') {
    return { type: 'string_too_long', loc, msg: `String should have at most ${issue.maximum} characters` };
  }
  const isPattern = issue.code === 'invalid_format';
  return { type: isPattern ? 'string_pattern_mismatch' : 'value_error', loc, msg: issue.message };
}

function valueAt(body: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (value as Record<string | number, unknown> | null | undefined)?.[key],
    body,
  );
}
