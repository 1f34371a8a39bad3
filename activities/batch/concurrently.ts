/** Runs so many at once, all drawing from the same list. */
export async function concurrently<T>(
  inputs: Iterable<T>,
  limit: number,
  work: (input: T) => Promise<void>,
): Promise<void> {
  const rest = inputs[Symbol.iterator]();
  const lane = async () => {
    for (let next = rest.next(); next.done !== true; next = rest.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: limit }, lane));
}
