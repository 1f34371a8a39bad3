/** A few numbers for many. Pure. */

export interface Summary {
  readonly n: number;
  readonly p50: number;
  readonly p95: number;
  readonly min: number;
  readonly max: number;
}

/** By nearest rank. @throws RangeError for no numbers. */
export function summarize(numbers: readonly number[]): Summary {
  if (numbers.length === 0) throw new RangeError('Nothing was measured.');
  const sorted = [...numbers].sort((a, b) => a - b);
  const rank = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] as number;
  return { n: sorted.length, p50: rank(0.5), p95: rank(0.95), min: rank(0), max: rank(1) };
}
