/**
 * The sandboxes of one data folder: which there are, what is being done with each, how they end. Every
 * step is on disk before it is taken, so that `recovery` can go on from wherever a killed server was.
 */

import { mkdirSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import { ApiError, sandboxNotFound } from './errors.js';
import { Operations } from './operations.js';
import { dropFrozen } from './pausing.js';
import { refuseUnreachable } from './reach.js';
import { loadRecords, type SandboxRecord } from './record.js';
import { recovery } from './recovery.js';
import { STOP_GRACE_MS } from './runner.js';
import { type Machine, Steps } from './steps.js';

/** How often ends of adopted processes and expiry are looked for. */
const TICK_MS = 250;

export class Sandboxes {
  readonly steps: Steps;
  readonly log: (line: string) => void;
  readonly #records = new Map<string, SandboxRecord>();
  readonly #operations = new Operations();
  readonly #deletions = new Map<string, Promise<void>>();
  readonly #ticking: NodeJS.Timeout;
  #closing = false;

  /** Takes over what an earlier server has left in the folder. */
  constructor(
    dataDir: string,
    machine: Machine,
    log: (line: string) => void,
    onSaved: (record: SandboxRecord) => void,
  ) {
    this.steps = new Steps(dataDir, machine, log, onSaved);
    this.log = log;
    for (const record of loadRecords(dataDir, log)) {
      this.#records.set(record.id, record);
      onSaved(record);
      this.#recover(record);
    }
    this.#ticking = setInterval(() => this.#tick(), TICK_MS);
    this.#ticking.unref();
  }

  has(id: string): boolean {
    return this.#records.get(id)?.deleting === false;
  }

  /** @throws ApiError 404; also for one whose deletion has begun. */
  get(id: string): SandboxRecord {
    const record = this.#records.get(id);
    if (record === undefined || record.deleting) throw sandboxNotFound(id);
    this.#noticeEnd(record);
    return record;
  }

  /** Also of those that are being deleted. */
  all(): readonly SandboxRecord[] {
    return [...this.#records.values()];
  }

  /** Newest first. */
  list(): SandboxRecord[] {
    const present = [...this.#records.values()].filter((record) => !record.deleting);
    for (const record of present) this.#noticeEnd(record);
    return present.reverse();
  }

  /** One that has just begun to be, with nothing on disk yet. */
  add(record: SandboxRecord): void {
    mkdirSync(this.steps.placeOf(record).home, { mode: 0o700 });
    this.steps.save(record);
    this.#records.set(record.id, record);
  }

  /** Runs the work as this sandbox's only one. */
  operate(record: SandboxRecord, work: (hurry: AbortSignal) => Promise<void>): Promise<void> {
    return this.#operations.run(record.id, work, () => this.#noticeEnd(record));
  }

  /** To be called when its first process has ended: sooner than by looking now and then. */
  exitOf(record: SandboxRecord): () => void {
    return () => this.#noticeEnd(record);
  }

  /** @throws ApiError 503 while the server is shutting down. */
  refuseWhenClosing(): void {
    if (!this.#closing) return;
    throw new ApiError(503, 'LOCAL::SHUTTING_DOWN', 'The sandbox server is shutting down.');
  }

  /**
   * Answers when its processes, control groups and folder are gone.
   * @throws ApiError 404, or 500 when something could not be removed.
   */
  delete(id: string): Promise<void> {
    const record = this.#records.get(id);
    if (record === undefined) return Promise.reject(sandboxNotFound(id));
    const begun = this.#deletions.get(id);
    if (begun !== undefined) return begun;
    const deletion = this.#delete(record).finally(() => this.#deletions.delete(id));
    this.#deletions.set(id, deletion);
    return deletion;
  }

  /**
   * To a frozen sandbox the kernel connects, but nobody answers.
   * @throws ApiError that says why there is no connection to that port now.
   */
  async connect(id: string, port: number): Promise<Duplex> {
    const record = this.get(id);
    refuseUnreachable(record);
    try {
      return await this.steps.machine.dialer.connect(
        { init: record.init, home: this.steps.placeOf(record).home },
        port,
      );
    } catch (error) {
      refuseUnreachable(this.get(id));
      const reason = error instanceof Error ? error.message : String(error);
      throw new ApiError(
        502,
        'BACKEND_CONNECTION_FAILED',
        `Could not connect to the backend sandbox ${id}:${port}: ${reason}`,
      );
    }
  }

  /**
   * Ends all processes. What was running is started again by the next server on this folder,
   * as after the restart of a machine; with `deleteAll` nothing remains.
   * @throws AggregateError when some could not be ended; the others are.
   */
  async close({ deleteAll = false } = {}): Promise<void> {
    this.#closing = true;
    clearInterval(this.#ticking);
    await Promise.allSettled([this.#operations.endAll(), ...this.#deletions.values()]);
    const all = [...this.#records.values()];
    const endings = await Promise.allSettled(
      all.map((record) => (deleteAll ? this.delete(record.id) : this.#stopWithServer(record))),
    );
    this.steps.machine.dialer.close();
    const failures = endings.filter((ending) => ending.status === 'rejected').map(({ reason }) => reason);
    if (failures.length > 0) throw new AggregateError(failures, `Not all sandboxes ended: ${failures[0]}`);
  }

  async #delete(record: SandboxRecord): Promise<void> {
    record.deleting = true;
    this.steps.save(record);
    await this.#operations.end(record.id);
    const { volume } = record.spec;
    const isShared = this.all().some(
      (other) => other !== record && other.spec.volume?.claimName === volume?.claimName,
    );
    await this.steps.erase(record, { withVolume: volume?.deletedWithSandbox === true && !isShared });
    this.#records.delete(record.id);
  }

  async #stopWithServer(record: SandboxRecord): Promise<void> {
    this.#noticeEnd(record);
    if (record.state !== 'Running' && record.frozen === null) return;
    record.stoppedWithServer = true;
    this.steps.save(record);
    if (record.frozen !== null) await dropFrozen(this.steps, record);
    else await this.steps.endProcesses(record, STOP_GRACE_MS);
  }

  #recover(record: SandboxRecord): void {
    if (record.deleting) {
      this.#deleteUnasked(record);
      return;
    }
    const work = recovery(this.steps, record, this.exitOf(record));
    if (work === null) this.#noticeEnd(record);
    else this.operate(record, work).catch((error) => this.log(`Recovery of sandbox ${record.id}: ${error}`));
  }

  #noticeEnd(record: SandboxRecord): void {
    if (record.deleting || record.stoppedWithServer || this.#operations.has(record.id)) return;
    if (record.state !== 'Running' && !(record.state === 'Paused' && record.frozen !== null)) return;
    if (this.steps.isRunning(record)) return;
    this.steps.recordEnd(record);
    this.operate(record, () => this.steps.endProcesses(record, 0)).catch((error) => {
      this.log(`After the end of sandbox ${record.id}: ${error}`);
    });
  }

  #tick(): void {
    const now = new Date().toISOString();
    for (const record of this.#records.values()) {
      this.#noticeEnd(record);
      if (record.expiresAt === null || record.expiresAt > now || this.#deletions.has(record.id)) continue;
      this.log(`Sandbox ${record.id} has expired.`);
      this.#deleteUnasked(record);
    }
  }

  #deleteUnasked({ id }: SandboxRecord): void {
    this.delete(id).catch((error) => this.log(`Deletion of sandbox ${id}: ${error.message}`));
  }
}
