/** Owner, group and mode, as requests give them. */

import type { Fields } from './requests.js';

export interface Permission {
  readonly owner: string;
  readonly group: string;
  /** Decimal digits that are read as octal ones; 0: as it is. */
  readonly mode: number;
}

/** @throws ApiError 400. */
export function permissionOf(fields: Fields): Permission {
  return {
    owner: fields.string('owner'),
    group: fields.string('group'),
    mode: fields.integer('mode', 'int') ?? 0,
  };
}
