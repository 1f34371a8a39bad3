/** The way in for programs: one connection, and the jobs behind it. */

import type { JanitorReport } from '../contract/janitor.js';
import { Batches } from './batches.js';
import { type ConnectionConfig, type ConnectOptions, connectionConfig } from './connection.js';
import { type SweepOptions, sweep } from './janitor.js';
import { Jobs } from './jobs.js';
import { Temporal } from './temporal.js';

export class Longhaul {
  readonly jobs: Jobs;
  readonly batches: Batches;
  /** What was found, and where: for messages and for processes that connect by themselves. */
  readonly config: ConnectionConfig;
  readonly #temporal: Temporal;

  private constructor(temporal: Temporal) {
    this.#temporal = temporal;
    this.config = temporal.config;
    this.jobs = new Jobs(temporal);
    this.batches = new Batches(temporal);
  }

  /**
   * Without options it finds the Temporal service as `connectionConfig` describes it.
   * @throws LonghaulError TEMPORAL_UNREACHABLE.
   */
  static async connect(options: ConnectOptions = {}): Promise<Longhaul> {
    return new Longhaul(await Temporal.connect(connectionConfig(options.env ?? process.env, options)));
  }

  /** Finds sandboxes whose job is over; see `sweep`. */
  sweep(options: SweepOptions = {}): Promise<JanitorReport> {
    return sweep(this.#temporal, options);
  }

  async close(): Promise<void> {
    await this.batches.close();
    await this.#temporal.close();
  }
}
