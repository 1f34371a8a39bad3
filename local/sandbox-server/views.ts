/** A sandbox as the API shows it, and pages of them. */

import { ApiError } from './errors.js';
import type { Query } from './query.js';
import type { SandboxRecord } from './record.js';

const DEFAULT_PAGE_SIZE = 20;
const MAX_PAGE_SIZE = 200;

/** Where the API looks when it is asked for sandboxes. */
export interface Reader {
  /** @throws ApiError 404 */
  get(id: string): SandboxRecord;
  /** Newest first. */
  list(): SandboxRecord[];
  /** What is shown of one that was just made or changed. */
  show(record: SandboxRecord): SandboxRecord;
}

export function sandboxView(record: SandboxRecord) {
  const { id, spec, state, reason, message, lastTransitionAt, expiresAt, createdAt } = record;
  return {
    id,
    image: spec.image,
    status: { state, reason, message, lastTransitionAt },
    ...(Object.keys(spec.metadata).length === 0 ? {} : { metadata: spec.metadata }),
    entrypoint: spec.entrypoint,
    ...(expiresAt === null ? {} : { expiresAt }),
    createdAt,
  };
}

/**
 * One page of those that match the query's `state` (any of them) and `metadata` (all of it).
 * @throws RequestShapeError 422 for page numbers out of range, ApiError 400 for an unreadable filter.
 */
export function listView(records: readonly SandboxRecord[], query: Query) {
  const page = query.integer('page', { default: 1, min: 1 });
  const pageSize = query.integer('pageSize', { default: DEFAULT_PAGE_SIZE, min: 1, max: MAX_PAGE_SIZE });
  const states = query.all('state');
  const labels = parseLabels(query.last('metadata') ?? '');
  const matching = records.filter(
    ({ state, spec }) =>
      (states.length === 0 || states.includes(state)) &&
      labels.every(([key, value]) => Object.hasOwn(spec.metadata, key) && spec.metadata[key] === value),
  );
  const totalPages = Math.ceil(matching.length / pageSize);
  return {
    items: matching.slice((page - 1) * pageSize, page * pageSize).map(sandboxView),
    pagination: {
      page,
      pageSize,
      totalItems: matching.length,
      totalPages,
      hasNextPage: page < totalPages,
    },
  };
}

/** @throws ApiError 400 */
export function parseLabels(text: string): [string, string][] {
  const fields = text.split('&').filter(Boolean);
  const broken = fields.find((field) => !field.includes('='));
  if (broken !== undefined) {
    const message = `Invalid metadata format: bad query field: '${broken}'`;
    throw new ApiError(400, 'INVALID_METADATA_FORMAT', message);
  }
  return [...new URLSearchParams(text)];
}
