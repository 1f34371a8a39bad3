/** Chance that can be repeated: everything a run decides comes from one seed. */

export interface Chance {
  /** 0 to below 1. */
  next(): number;
  between(min: number, max: number): number;
  pick<T>(choices: readonly T[]): T;
  /** Each choice as often as its weight says. */
  weighted<T>(choices: readonly (readonly [weight: number, choice: T])[]): T;
}

/** Mulberry32: small, and good enough to choose with. */
export function chanceOf(seed: number): Chance {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const pick = <T>(choices: readonly T[]): T => choices[Math.floor(next() * choices.length)] as T;
  return {
    next,
    between: (min, max) => min + next() * (max - min),
    pick,
    weighted(choices) {
      const total = choices.reduce((sum, [weight]) => sum + weight, 0);
      let rest = next() * total;
      for (const [weight, choice] of choices) {
        rest -= weight;
        if (rest < 0) return choice;
      }
      return pick(choices)[1];
    },
  };
}
