/** What the sandboxes looked like some time ago, for readers that a fault shows an old state. */

import type { SandboxRecord } from '../record.js';
import { MAX_STALE_MS } from './rule.js';

interface Version {
  readonly atMs: number;
  /** `null`: it had been deleted. */
  readonly record: SandboxRecord | null;
}

export class History {
  readonly #versions = new Map<string, Version[]>();

  /** To be called after each change of a record. */
  note(record: SandboxRecord): void {
    const nowMs = Date.now();
    const version = { atMs: nowMs, record: record.deleting ? null : { ...record } };
    this.#versions.set(record.id, [...recent(this.#versions.get(record.id) ?? [], nowMs), version]);
    if (version.record === null) this.#forget(nowMs);
  }

  /** Newest sandbox first. */
  ids(): string[] {
    return [...this.#versions.keys()].reverse();
  }

  /** `null` when there was none then. */
  at(id: string, atMs: number): SandboxRecord | null {
    return this.#versions.get(id)?.findLast((version) => version.atMs <= atMs)?.record ?? null;
  }

  /** Also of one that is deleted by now. */
  labelsOf(id: string): Readonly<Record<string, string>> {
    const known = this.#versions.get(id)?.findLast(({ record }) => record !== null);
    return known?.record?.spec.metadata ?? {};
  }

  #forget(nowMs: number): void {
    for (const [id, versions] of this.#versions) {
      const last = versions.at(-1);
      if (last?.record === null && last.atMs < nowMs - MAX_STALE_MS) this.#versions.delete(id);
    }
  }
}

/** What somebody may still ask for, and the version that held at the beginning of that time. */
function recent(versions: readonly Version[], nowMs: number): Version[] {
  const first = versions.findLastIndex(({ atMs }) => atMs <= nowMs - MAX_STALE_MS);
  return versions.slice(Math.max(0, first));
}
