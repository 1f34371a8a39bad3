/** Chance that can be repeated. */

/**
 * A number in [0, 1) that depends on its arguments alone: the n-th match of a rule is decided alike in
 * every run with the same seed, however the requests of other rules were interleaved with it.
 */
export function chance(seed: number, ruleId: number, match: number): number {
  const mixed = mix(mix(mix(seed ^ 0x9e3779b9) ^ ruleId) ^ match);
  return mixed / 2 ** 32;
}

export function randomSeed(): number {
  return Math.floor(Math.random() * 2 ** 32);
}

/** The finalizer of MurmurHash3: each bit of the input changes half of the bits of the result. */
function mix(value: number): number {
  let mixed = value >>> 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
