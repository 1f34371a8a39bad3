/** What a sweep for sandboxes without a job is asked, and what it found. */

/** The workflow that looks for sandboxes whose job is over, and deletes them where it may. */
export const JANITOR_WORKFLOW = 'janitor';

export interface JanitorInput {
  /** Delete what was found twice; without it, only tell. */
  readonly apply: boolean;
  /** Younger sandboxes are left alone: their job may not be visible yet. */
  readonly minAgeMs: number;
  /** Between the two looks that make proof. */
  readonly confirmAfterMs: number;
  /** At most so many are deleted in one sweep. */
  readonly maxDeletes: number;
}

/** A sandbox that carries our labels, and whose job is over or unknown. */
export interface Orphan {
  readonly sandboxId: string;
  readonly state: string;
  /** ISO 8601; `null` where the API does not tell. */
  readonly createdAt: string | null;
  /** Why it is taken for one, in words. */
  readonly why: string;
}

export interface JanitorReport {
  /** Sandboxes that carry our labels. */
  readonly looked: number;
  /** Those of them that were orphans at both looks. */
  readonly orphans: readonly Orphan[];
  /** IDs that are gone now, by the word of the API. */
  readonly deleted: readonly string[];
  readonly applied: boolean;
}

export interface FindOrphansInput {
  readonly minAgeMs: number;
}

export interface FindOrphansOutcome {
  readonly looked: number;
  readonly orphans: readonly Orphan[];
}

export interface JanitorActivities {
  findOrphans(input: FindOrphansInput): Promise<FindOrphansOutcome>;
  /** Returns those whose absence the API has confirmed. */
  deleteOrphans(input: { readonly sandboxIds: readonly string[] }): Promise<string[]>;
}
