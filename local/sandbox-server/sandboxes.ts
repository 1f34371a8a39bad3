/**
 * The sandboxes of one data folder and what may happen to them. Every step is on disk before it is
 * taken, so that `recover` can go on from wherever a killed server was.
 */

import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { FIRST_UID } from './backends/detect.js';
import type { SandboxSpec } from './create-request.js';
import { ApiError, sandboxNotFound, wrongState } from './errors.js';
import { isOfEarlierBoot } from './processes.js';
import { loadRecords, type SandboxRecord, transition } from './record.js';
import { STOP_GRACE_MS } from './runner.js';
import { type Machine, Steps } from './steps.js';

/** How often ends of adopted processes and expiry are looked for. */
const TICK_MS = 250;
/** A pause or resume that takes longer is answered before it is done. */
const ANSWER_WITHIN_MS = 50;

export class Sandboxes {
  readonly steps: Steps;
  readonly #log: (line: string) => void;
  readonly #records = new Map<string, SandboxRecord>();
  /** The start, pause or clearing-up under way, at most one per sandbox; a deletion waits for it. */
  readonly #operations = new Map<string, Promise<void>>();
  readonly #deletions = new Map<string, Promise<void>>();
  readonly #ticking: NodeJS.Timeout;
  #closing = false;

  /** Takes over what an earlier server has left in the folder. */
  constructor(dataDir: string, machine: Machine, log: (line: string) => void) {
    this.steps = new Steps(dataDir, machine, log);
    this.#log = log;
    for (const record of loadRecords(dataDir, log)) {
      this.#records.set(record.id, record);
      this.#recover(record);
    }
    this.#ticking = setInterval(() => this.#tick(), TICK_MS);
    this.#ticking.unref();
  }

  /** @throws ApiError 404; also for one whose deletion has begun. */
  get(id: string): SandboxRecord {
    const record = this.#records.get(id);
    if (record === undefined || record.deleting) throw sandboxNotFound(id);
    this.#noticeEnd(record);
    return record;
  }

  /** Newest first. */
  list(): SandboxRecord[] {
    const present = [...this.#records.values()].filter((record) => !record.deleting);
    for (const record of present) this.#noticeEnd(record);
    return present.reverse();
  }

  /**
   * Answers when the entrypoint has been started, whatever becomes of it then.
   * @throws ApiError when it could not be; nothing is left then.
   */
  async create(spec: SandboxSpec): Promise<SandboxRecord> {
    this.#refuseWhenClosing();
    const now = new Date();
    const expiry = spec.timeoutSeconds === null ? null : now.getTime() + spec.timeoutSeconds * 1000;
    const record: SandboxRecord = {
      ...this.#newIdentity(),
      spec,
      createdAt: now.toISOString(),
      expiresAt: expiry === null ? null : new Date(expiry).toISOString(),
      state: 'Pending',
      reason: '',
      message: '',
      lastTransitionAt: '',
      outer: null,
      init: null,
      starts: 0,
      exitCode: null,
      deleting: false,
      stoppedWithServer: false,
      events: [],
    };
    transition(record, 'Pending', 'Creating', 'The sandbox is being created.');
    mkdirSync(this.steps.placeOf(record).home, { mode: 0o700 });
    this.steps.save(record);
    this.#records.set(record.id, record);
    try {
      let started = record;
      await this.#operate(record, async () => {
        await this.steps.start(record, this.#exitOf(record));
        started = { ...record };
      });
      return started;
    } catch (error) {
      await this.delete(record.id);
      throw error;
    }
  }

  /** @throws ApiError 404, or 409 unless it is running. */
  async pause(id: string): Promise<void> {
    this.#refuseWhenClosing();
    const record = this.get(id);
    this.#refuseWhileChanging(record);
    if (record.state !== 'Running') {
      throw wrongState('SANDBOX_NOT_RUNNING', 'Sandbox is not in a running state.');
    }
    transition(record, 'Pausing', 'Pausing', 'The entrypoint is asked to stop.');
    this.steps.save(record);
    await this.#answerSoon(this.#operate(record, () => this.steps.pause(record)));
  }

  /** @throws ApiError 404, or 409 unless it is paused. */
  async resume(id: string): Promise<void> {
    this.#refuseWhenClosing();
    const record = this.get(id);
    this.#refuseWhileChanging(record);
    if (record.state !== 'Paused') {
      throw wrongState('SANDBOX_NOT_PAUSED', 'Sandbox is not in a paused state.');
    }
    transition(record, 'Resuming', 'Resuming', 'The entrypoint is started on the same /workspace.');
    this.steps.save(record);
    await this.#answerSoon(this.#operate(record, () => this.steps.startOrFail(record, this.#exitOf(record))));
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

  /** @throws ApiError 404, 409 for a sandbox that never expires. */
  renew(id: string, expiresAt: Date): void {
    const record = this.get(id);
    if (record.expiresAt === null) {
      throw wrongState('INVALID_EXPIRATION', `Sandbox ${id} does not have automatic expiration enabled.`);
    }
    record.expiresAt = expiresAt.toISOString();
    this.steps.save(record);
  }

  /** @throws ApiError that says why there is no connection to that port now. */
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
    await Promise.allSettled([...this.#operations.values(), ...this.#deletions.values()]);
    const all = [...this.#records.values()];
    const endings = await Promise.allSettled(
      all.map((record) => (deleteAll ? this.delete(record.id) : this.#stopWithServer(record))),
    );
    this.steps.machine.dialer.close();
    const failures = endings.filter((ending) => ending.status === 'rejected').map(({ reason }) => reason);
    if (failures.length > 0) throw new AggregateError(failures, `Not all sandboxes ended: ${failures[0]}`);
  }

  #newIdentity(): { id: string; uid: number | null } {
    const id = randomUUID();
    if (process.getuid?.() !== 0 || !this.steps.machine.backend.isolated) return { id, uid: null };
    const uid = FIRST_UID + 1 + Number.parseInt(id.slice(0, 6), 16);
    const isTaken = [...this.#records.values()].some((record) => record.uid === uid);
    return isTaken ? this.#newIdentity() : { id, uid };
  }

  async #delete(record: SandboxRecord): Promise<void> {
    record.deleting = true;
    this.steps.save(record);
    await this.#operations.get(record.id)?.catch(() => undefined);
    await this.steps.erase(record);
    this.#records.delete(record.id);
  }

  async #stopWithServer(record: SandboxRecord): Promise<void> {
    this.#noticeEnd(record);
    if (record.state !== 'Running') return;
    record.stoppedWithServer = true;
    this.steps.save(record);
    await this.steps.endProcesses(record, STOP_GRACE_MS);
  }

  /** What a server that ended at any instant was about to do is done; what runs goes on running. */
  #recover(record: SandboxRecord): void {
    const run = (work: () => Promise<void>) => {
      this.#operate(record, work).catch((error) => this.#log(`Recovery of sandbox ${record.id}: ${error}`));
    };
    if (record.deleting) {
      this.delete(record.id).catch((error) =>
        this.#log(`Deletion of sandbox ${record.id}: ${error.message}`),
      );
    } else if (record.state === 'Pausing') {
      run(() => this.steps.pause(record));
    } else if (record.state === 'Pending' || record.state === 'Resuming') {
      run(() => this.steps.finishStart(record, this.#exitOf(record)));
    } else if (record.state === 'Running') {
      const isKeptFromRunning =
        record.stoppedWithServer || (record.outer !== null && isOfEarlierBoot(record.outer));
      if (!this.steps.isRunning(record) && isKeptFromRunning) {
        Object.assign(record, { outer: null, init: null });
        transition(record, 'Pending', 'Restarting', 'The server is back; the entrypoint is started again.');
        this.steps.save(record);
        run(() => this.steps.startOrFail(record, this.#exitOf(record)));
      } else {
        record.stoppedWithServer = false;
        this.#noticeEnd(record);
      }
    }
  }

  /** Runs the work as this sandbox's only one. */
  #operate(record: SandboxRecord, work: () => Promise<void>): Promise<void> {
    const operation = work().finally(() => {
      this.#operations.delete(record.id);
      this.#noticeEnd(record);
    });
    this.#operations.set(record.id, operation);
    return operation;
  }

  /** The work goes on behind the answer; its failure is then only seen in the state. */
  async #answerSoon(operation: Promise<void>): Promise<void> {
    operation.catch((error) => this.#log(`${error}`));
    await Promise.race([operation, sleep(ANSWER_WITHIN_MS)]);
  }

  #noticeEnd(record: SandboxRecord): void {
    if (record.state !== 'Running' || record.deleting || record.stoppedWithServer) return;
    if (this.#operations.has(record.id) || this.steps.isRunning(record)) return;
    this.steps.recordEnd(record);
    this.#operate(record, () => this.steps.endProcesses(record, 0)).catch((error) => {
      this.#log(`After the end of sandbox ${record.id}: ${error}`);
    });
  }

  #exitOf(record: SandboxRecord): () => void {
    return () => this.#noticeEnd(record);
  }

  #tick(): void {
    const now = new Date().toISOString();
    for (const record of this.#records.values()) {
      this.#noticeEnd(record);
      if (record.expiresAt === null || record.expiresAt > now || this.#deletions.has(record.id)) continue;
      this.#log(`Sandbox ${record.id} has expired.`);
      this.delete(record.id).catch((error) =>
        this.#log(`Deletion of sandbox ${record.id}: ${error.message}`),
      );
    }
  }

  #refuseWhenClosing(): void {
    if (!this.#closing) return;
    throw new ApiError(503, 'LOCAL::SHUTTING_DOWN', 'The sandbox server is shutting down.');
  }

  #refuseWhileChanging({ state }: SandboxRecord): void {
    if (state === 'Pending' || state === 'Pausing' || state === 'Resuming') {
      throw wrongState('INVALID_STATE', `Sandbox is ${state}; try again when that is over.`);
    }
  }
}

function refuseUnreachable({ id, state }: SandboxRecord): void {
  if (state === 'Running') return;
  if (state === 'Failed' || state === 'Terminated') {
    const message = `Sandbox ${id} has exited and has no network.`;
    throw new ApiError(500, 'LOCAL::NETWORK_MODE_ENDPOINT_UNAVAILABLE', message);
  }
  throw new ApiError(404, 'LOCAL::POD_IP_NOT_AVAILABLE', `Sandbox ${id} is ${state} and has no network now.`);
}
