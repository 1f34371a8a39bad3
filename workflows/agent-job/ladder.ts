/** Where a job stands on the ladder of recovery; see recovery.ts. */

/** Steps taken since the checkpoint last changed. */
export interface Ladder {
  /** Digest of the checkpoint that did not change; `null` where there was none. */
  readonly digest: string | null;
  readonly nudges: number;
  readonly bounces: number;
  readonly recreations: number;
}

/** A step of the ladder that is to be taken next. */
export type Remedy =
  | { readonly kind: 'nudge' }
  | { readonly kind: 'bounce' }
  /** The sandbox is given up; the next create starts from the last snapshot. */
  | { readonly kind: 'recreate' };

export const ON_THE_GROUND: Ladder = { digest: null, nudges: 0, bounces: 0, recreations: 0 };
