/** What a reader of the API is shown: old states, and times by a clock that is wrong. */

import { sandboxNotFound } from '../errors.js';
import type { SandboxRecord } from '../record.js';
import type { Reader } from '../views.js';
import { selects } from './faults.js';
import type { History } from './history.js';
import type { Match } from './rule.js';

/** A number of milliseconds for the sandboxes that a rule selects. */
export interface Shift {
  readonly ms: number;
  readonly match: Match;
}

/** @param stale how old the states are that are shown; of several rules the first decides. */
export function staleReader(reader: Reader, history: History, stale: readonly Shift[]): Reader {
  const version = (id: string, current: () => SandboxRecord | null): SandboxRecord | null => {
    const shift = shiftFor(stale, id, history.labelsOf(id));
    return shift === null ? current() : history.at(id, Date.now() - shift.ms);
  };
  return {
    get(id) {
      const record = version(id, () => reader.get(id));
      if (record === null) throw sandboxNotFound(id);
      return record;
    },
    list() {
      const present = new Map(reader.list().map((record) => [record.id, record]));
      const ids = new Set([...history.ids(), ...present.keys()]);
      const shown = [...ids].map((id) => version(id, () => present.get(id) ?? null));
      return shown.filter((record) => record !== null);
    },
    show: (record) => reader.show(record),
  };
}

export function skewedReader(reader: Reader, skews: readonly Shift[]): Reader {
  const show = (record: SandboxRecord): SandboxRecord => {
    const ms = shiftFor(skews, record.id, record.spec.metadata)?.ms ?? 0;
    return {
      ...record,
      createdAt: shifted(record.createdAt, ms),
      lastTransitionAt: shifted(record.lastTransitionAt, ms),
      expiresAt: record.expiresAt === null ? null : shifted(record.expiresAt, ms),
    };
  };
  return {
    get: (id) => show(reader.get(id)),
    list: () => reader.list().map(show),
    show: (record) => show(reader.show(record)),
  };
}

function shiftFor(
  shifts: readonly Shift[],
  id: string,
  labels: Readonly<Record<string, string>>,
): Shift | null {
  return shifts.find(({ match }) => selects(match, id, labels)) ?? null;
}

function shifted(date: string, ms: number): string {
  return new Date(Date.parse(date) + ms).toISOString();
}
