/**
 * The watches that run in this process, so that a pause or delete can end them at once.
 * Temporal tells a watch of its cancellation only with the answer to a heartbeat, which may be minutes away;
 * until then it would go on polling a sandbox that is paused or gone. In other processes it just takes longer.
 */
export class LocalWatches {
  readonly #controllers = new Map<string, Set<AbortController>>();

  /** A signal that `stop` aborts; call `release` when the watch has ended. */
  begin(sandboxId: string): { readonly signal: AbortSignal; release(): void } {
    const controller = new AbortController();
    const watches = this.#controllers.get(sandboxId) ?? new Set();
    this.#controllers.set(sandboxId, watches.add(controller));
    return {
      signal: controller.signal,
      release: () => {
        watches.delete(controller);
        if (watches.size === 0) this.#controllers.delete(sandboxId);
      },
    };
  }

  stop(sandboxId: string): void {
    for (const controller of this.#controllers.get(sandboxId) ?? []) controller.abort();
  }

  /** How many sandboxes are being watched. */
  get size(): number {
    return this.#controllers.size;
  }
}
