/** Which metadata a sandbox may carry: what Kubernetes takes as labels. */

import { ApiError, type FieldIssue, RequestShapeError } from './errors.js';

const RESERVED_PREFIX = 'opensandbox.io/';
const LABEL = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LABEL_PREFIX = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const FORM =
  "must be 63 characters or less, start/end with an alphanumeric character, and contain only alphanumeric, '-', '_', or '.' characters.";

export type Metadata = Readonly<Record<string, string>>;

/** @throws ApiError 400 for the first that is none. */
export function checkMetadata(metadata: Metadata): void {
  for (const [key, value] of Object.entries(metadata)) {
    if (key.startsWith(RESERVED_PREFIX)) {
      throw invalid(
        `Metadata key '${key}' uses the reserved prefix '${RESERVED_PREFIX}'. Keys under this prefix are managed by the system and cannot be set via metadata.`,
      );
    }
    const slash = key.indexOf('/');
    const prefixFits = slash === -1 || LABEL_PREFIX.test(key.slice(0, slash));
    if (!prefixFits || !LABEL.test(key.slice(slash + 1))) {
      throw invalid(`Metadata key '${key}' is invalid: its name ${FORM}`);
    }
    if (value !== '' && !LABEL.test(value)) throw invalid(`Metadata value '${value}' is invalid: ${FORM}`);
  }
}

/**
 * JSON Merge Patch (RFC 7396): `null` removes a key, absent ones stay.
 * @throws RequestShapeError 422 for a patch of another shape, ApiError 400 for what is no label.
 */
export function patchMetadata(metadata: Metadata, patch: unknown): Metadata {
  const merged = new Map(Object.entries(metadata));
  const added: Record<string, string> = {};
  const entries = Object.entries(asObject(patch));
  const reserved = entries.find(([key]) => key.startsWith(RESERVED_PREFIX));
  if (reserved !== undefined) {
    // In the words, and without the prefix of the code, in which it was recorded.
    const message = `Metadata key '${reserved[0]}' is reserved (${RESERVED_PREFIX} prefix).`;
    throw new ApiError(400, 'INVALID_METADATA_LABEL', message);
  }
  const issues: FieldIssue[] = [];
  for (const [key, value] of entries) {
    if (value === null) merged.delete(key);
    else if (typeof value === 'string') {
      added[key] = value;
      merged.set(key, value);
    } else {
      issues.push({ type: 'string_type', loc: ['body', key], msg: 'Input should be a valid string' });
    }
  }
  if (issues.length > 0) throw new RequestShapeError(issues);
  checkMetadata(added);
  return Object.fromEntries(merged);
}

function asObject(patch: unknown): object {
  if (typeof patch === 'object' && patch !== null && !Array.isArray(patch)) return patch;
  throw new RequestShapeError([
    { type: 'dict_type', loc: ['body'], msg: 'Input should be a valid dictionary' },
  ]);
}

function invalid(message: string): ApiError {
  return new ApiError(400, 'SANDBOX::INVALID_METADATA_LABEL', message);
}
