/** How a job is named, and how two specs are told apart. */

import { createHash, randomBytes } from 'node:crypto';
import type { JobSpec } from '../contract/job-spec.js';

/** Base 32 without letters that look like digits (Crockford). */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const SUFFIX_LENGTH = 8;

/** A new ID that says what the job is, e.g. `python-7d3kq0xz` for the image `python:3.12-slim`. */
export function newJobId(image: string): string {
  const name = image.split('@')[0]?.split('/').at(-1)?.split(':')[0] ?? '';
  const base = name.replace(/[^A-Za-z0-9._-]/g, '').replace(/^[._-]+/, '');
  const suffix = [...randomBytes(SUFFIX_LENGTH)].map((byte) => ALPHABET[byte % ALPHABET.length]).join('');
  return `${base.slice(0, 100) || 'job'}-${suffix}`;
}

/** `sha256:…` over the spec without its ID: the same for the same work, however its fields are ordered. */
export function specDigest(spec: JobSpec): string {
  const canonical = JSON.stringify({ ...spec, id: null }, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  return `sha256:${createHash('sha256').update(canonical).digest('hex')}`;
}
