/**
 * The sandboxes of one data folder and what may happen to them. Every step is on disk before it is
 * taken, so that `recover` can go on from wherever a killed server was.
 */

import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Backend, Place } from './backends/backend.js';
import { FIRST_UID } from './backends/detect.js';
import { type CgroupVersion, createCgroup, hadOutOfMemoryKill, removeCgroup } from './cgroups.js';
import type { SandboxSpec } from './create-request.js';
import type { Dialer } from './dial.js';
import { ApiError, sandboxNotFound, wrongState } from './errors.js';
import { emptyWorkspace, prepareHome } from './home.js';
import { ulimits } from './limits.js';
import { isOfEarlierBoot, readText } from './processes.js';
import { loadRecords, type SandboxRecord, saveRecord, transition } from './record.js';
import { exitCodeOf, isRunning, launch, logFile, STOP_GRACE_MS, stop, untilReady } from './runner.js';

/** How often ends of adopted processes and expiry are looked for. */
const TICK_MS = 250;
/** A pause or resume that takes longer is answered before it is done. */
const ANSWER_WITHIN_MS = 50;

export interface Machine {
  readonly backend: Backend;
  readonly cgroups: CgroupVersion | null;
  readonly dialer: Dialer;
}

export class Sandboxes {
  readonly machine: Machine;
  readonly #dataDir: string;
  readonly #log: (line: string) => void;
  readonly #records = new Map<string, SandboxRecord>();
  /** The start, pause or deletion under way, at most one per sandbox. */
  readonly #operations = new Map<string, Promise<void>>();
  readonly #deletions = new Map<string, Promise<void>>();
  readonly #ticking: NodeJS.Timeout;
  #closing = false;

  /** Takes over what an earlier server has left in the folder. */
  constructor(dataDir: string, machine: Machine, log: (line: string) => void) {
    this.#dataDir = dataDir;
    this.machine = machine;
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
    mkdirSync(this.placeOf(record).home, { mode: 0o700 });
    saveRecord(this.placeOf(record).home, record);
    this.#records.set(record.id, record);
    try {
      let started = record;
      await this.#operate(record, async () => {
        await this.#start(record);
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
    this.#save(record);
    await this.#answerSoon(this.#operate(record, () => this.#pause(record)));
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
    this.#save(record);
    await this.#answerSoon(this.#operate(record, () => this.#startOrFail(record)));
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
    this.#save(record);
  }

  /** @throws ApiError that says why there is no connection to that port now. */
  async connect(id: string, port: number): Promise<Duplex> {
    const record = this.get(id);
    refuseUnreachable(record);
    try {
      return await this.machine.dialer.connect({ init: record.init, home: this.placeOf(record).home }, port);
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

  placeOf({ id, uid }: Pick<SandboxRecord, 'id' | 'uid'>): Place {
    return { id, uid, home: join(this.#dataDir, id) };
  }

  /**
   * Ends all processes. What was running is started again by the next server on this folder,
   * as after the restart of a machine; with `deleteAll` nothing remains.
   */
  async close({ deleteAll = false } = {}): Promise<void> {
    this.#closing = true;
    clearInterval(this.#ticking);
    await Promise.allSettled([...this.#operations.values(), ...this.#deletions.values()]);
    const all = [...this.#records.values()];
    if (deleteAll) await Promise.all(all.map((record) => this.delete(record.id)));
    else await Promise.all(all.map((record) => this.#stopWithServer(record)));
    this.machine.dialer.close();
  }

  #newIdentity(): { id: string; uid: number | null } {
    const id = randomUUID();
    if (process.getuid?.() !== 0 || !this.machine.backend.isolated) return { id, uid: null };
    const uid = FIRST_UID + 1 + Number.parseInt(id.slice(0, 6), 16);
    const isTaken = [...this.#records.values()].some((record) => record.uid === uid);
    return isTaken ? this.#newIdentity() : { id, uid };
  }

  /** @throws ApiError when the sandbox could not be built. */
  async #start(record: SandboxRecord): Promise<void> {
    const { backend, cgroups } = this.machine;
    const place = this.placeOf(record);
    prepareHome(place);
    Object.assign(record, { outer: null, init: null, exitCode: null, stoppedWithServer: false });
    launch({
      place,
      backend,
      entrypoint: record.spec.entrypoint,
      env: record.spec.env,
      cgroupFolders: cgroups === null ? [] : createCgroup(cgroups, record.id, record.spec.limits),
      ulimits: ulimits(cgroups, backend, record.spec.limits),
      onSpawned: (outer) => {
        record.outer = outer;
        record.starts += 1;
        this.#save(record);
      },
      onExit: () => this.#noticeEnd(record),
    });
    await this.#becomeRunning(record);
  }

  /** From "spawned" on: also for what a killed server had spawned. */
  async #becomeRunning(record: SandboxRecord): Promise<void> {
    const { backend } = this.machine;
    const place = this.placeOf(record);
    const { outer } = record;
    if (outer === null) throw new Error(`Sandbox ${record.id} was not spawned.`);
    const result = await untilReady(place, backend, outer);
    if (result === 'timeout' || result === 'failed') {
      await stop(place, backend, record, 0);
      await this.#releaseLimits(record);
      if (result === 'timeout') {
        throw new ApiError(504, 'LOCAL::POD_READY_TIMEOUT', `Sandbox ${record.id} did not start in time.`);
      }
      const said = readText(logFile(place)).trim().slice(-500);
      throw new ApiError(500, 'LOCAL::SANDBOX_START_FAILED', 'The sandbox could not be built.', said);
    }
    record.init = result.init;
    transition(record, 'Running', 'DependenciesReady', 'Pod is Ready; Service Exists');
    this.#save(record);
  }

  async #startOrFail(record: SandboxRecord): Promise<void> {
    try {
      await this.#start(record);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#log(`Sandbox ${record.id} could not be started: ${message}`);
      transition(record, 'Failed', 'START_FAILED', message);
      this.#save(record);
    }
  }

  async #pause(record: SandboxRecord): Promise<void> {
    const place = this.placeOf(record);
    await stop(place, this.machine.backend, record, STOP_GRACE_MS);
    await this.#releaseLimits(record);
    if (!record.spec.persistent) emptyWorkspace(place);
    Object.assign(record, { outer: null, init: null });
    transition(record, 'Paused', 'PodDeleted', 'All processes have ended; /workspace is retained.');
    if (!record.spec.persistent) record.message = 'All processes have ended; /workspace was not persistent.';
    this.#save(record);
  }

  async #delete(record: SandboxRecord): Promise<void> {
    record.deleting = true;
    this.#save(record);
    await this.#operations.get(record.id)?.catch(() => undefined);
    const place = this.placeOf(record);
    try {
      await stop(place, this.machine.backend, record, 0);
      await this.#releaseLimits(record);
      await rm(place.home, { recursive: true, force: true });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      throw new ApiError(500, 'LOCAL::SANDBOX_DELETE_FAILED', `Failed to delete sandbox: ${message}`);
    }
    this.#records.delete(record.id);
  }

  async #stopWithServer(record: SandboxRecord): Promise<void> {
    this.#noticeEnd(record);
    if (record.state !== 'Running') return;
    record.stoppedWithServer = true;
    this.#save(record);
    await stop(this.placeOf(record), this.machine.backend, record, STOP_GRACE_MS);
    await this.#releaseLimits(record);
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
      run(() => this.#pause(record));
    } else if (record.state === 'Pending' || record.state === 'Resuming') {
      run(() => this.#finishStart(record));
    } else if (record.state === 'Running') {
      const isKeptFromRunning =
        record.stoppedWithServer || (record.outer !== null && isOfEarlierBoot(record.outer));
      if (!isRunning(record) && isKeptFromRunning) {
        Object.assign(record, { outer: null, init: null });
        transition(record, 'Pending', 'Restarting', 'The server is back; the entrypoint is started again.');
        this.#save(record);
        run(() => this.#startOrFail(record));
      } else {
        record.stoppedWithServer = false;
        this.#noticeEnd(record);
      }
    }
  }

  async #finishStart(record: SandboxRecord): Promise<void> {
    const hasBegun = isRunning(record) || exitCodeOf(this.placeOf(record)) !== null;
    if (record.outer !== null && !isOfEarlierBoot(record.outer) && hasBegun) {
      await this.#becomeRunning(record);
      this.#noticeEnd(record);
    } else {
      await this.#startOrFail(record);
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
    if (this.#operations.has(record.id) || isRunning(record)) return;
    const { cgroups } = this.machine;
    const exitCode = exitCodeOf(this.placeOf(record)) ?? 137;
    record.exitCode = exitCode;
    const isOutOfMemory = cgroups !== null && exitCode === 137 && hadOutOfMemoryKill(cgroups, record.id);
    if (exitCode === 0) {
      transition(record, 'Terminated', 'CONTAINER_EXITED', 'Sandbox container exited successfully.');
    } else {
      const reason = isOutOfMemory ? 'OOMKilled' : 'CONTAINER_EXITED_ERROR';
      transition(record, 'Failed', reason, `Sandbox container exited with code ${exitCode}.`);
    }
    this.#save(record);
    this.#operate(record, async () => {
      await stop(this.placeOf(record), this.machine.backend, record, 0);
      await this.#releaseLimits(record);
    }).catch((error) => this.#log(`After the end of sandbox ${record.id}: ${error}`));
  }

  async #releaseLimits(record: SandboxRecord): Promise<void> {
    if (this.machine.cgroups !== null) await removeCgroup(this.machine.cgroups, record.id);
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

  #save(record: SandboxRecord): void {
    saveRecord(this.placeOf(record).home, record);
  }

  #refuseWhenClosing(): void {
    if (this.#closing)
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
