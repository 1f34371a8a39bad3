/** Long work that is not silent. */

const TELL_EVERY_MS = 15_000;

/** Says every 15 seconds that the work still goes on, and for how long it has. */
export async function telling<T>(what: string, log: (line: string) => void, work: Promise<T>): Promise<T> {
  const startedAt = Date.now();
  const timer = setInterval(
    () => log(`  … still ${what} (${Math.round((Date.now() - startedAt) / 1000)} s)`),
    TELL_EVERY_MS,
  );
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}
