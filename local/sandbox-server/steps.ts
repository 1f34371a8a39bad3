/**
 * The steps that the life of one sandbox is made of. Each saves what it is about to do before it does it,
 * and each may be taken again after a server was killed in the middle of it.
 */

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Backend, Place } from './backends/backend.js';
import { type CgroupVersion, createCgroup, hadOutOfMemoryKill, removeCgroup } from './cgroups.js';
import type { Dialer } from './dial.js';
import { ApiError } from './errors.js';
import { thaw } from './freezer.js';
import { clearWorkspace, prepareHome } from './home.js';
import { imageFolder } from './images.js';
import { ulimits } from './limits.js';
import { isOfEarlierBoot, readText } from './processes.js';
import { type SandboxRecord, saveRecord, transition } from './record.js';
import { exitCodeOf, isRunning, KILLED_EXIT_CODE, launch, logFile, stop, untilReady } from './runner.js';
import { removeVolume, volumeFolder } from './volumes.js';

/** `pod`: all processes end, as on Kubernetes; `frozen`: they are stopped where they are, as by docker. */
export type PauseKind = 'pod' | 'frozen';

/** What this machine offers, and how it is to be used. */
export interface Machine {
  readonly backend: Backend;
  readonly cgroups: CgroupVersion | null;
  readonly dialer: Dialer;
  /** Root folders of images, one for each name; `null`: every image is the host itself. */
  readonly imagesDir: string | null;
  readonly pauseKind: PauseKind;
  /** How long an agent may take for the first byte of an answer. */
  readonly answerTimeoutMs: number;
}

export class Steps {
  readonly machine: Machine;
  readonly dataDir: string;
  readonly #log: (line: string) => void;
  readonly #onSaved: (record: SandboxRecord) => void;

  constructor(
    dataDir: string,
    machine: Machine,
    log: (line: string) => void,
    onSaved: (record: SandboxRecord) => void,
  ) {
    this.dataDir = dataDir;
    this.machine = machine;
    this.#log = log;
    this.#onSaved = onSaved;
  }

  placeOf({ id, uid, spec }: Pick<SandboxRecord, 'id' | 'uid' | 'spec'>): Place {
    const volume = spec.volume === null ? null : volumeFolder(this.dataDir, spec.volume);
    return {
      id,
      uid,
      volume,
      home: join(this.dataDir, id),
      image: imageFolder(this.machine.imagesDir, spec.image.uri),
    };
  }

  isRunning(record: SandboxRecord): boolean {
    return isRunning(this.placeOf(record), record);
  }

  save(record: SandboxRecord): void {
    saveRecord(this.placeOf(record).home, record);
    this.#onSaved(record);
  }

  /**
   * Starts the entrypoint; done when it has begun to run.
   * @throws ApiError when the sandbox could not be built; no process is left then.
   */
  async start(record: SandboxRecord, onExit: () => void): Promise<void> {
    const { backend, cgroups } = this.machine;
    const place = this.placeOf(record);
    const { entrypoint, env, limits } = record.spec;
    prepareHome(place);
    Object.assign(record, {
      outer: null,
      init: null,
      frozen: null,
      exitCode: null,
      stoppedWithServer: false,
    });
    launch({
      place,
      backend,
      entrypoint,
      env,
      cgroupFolders: cgroups === null ? [] : createCgroup(cgroups, record.id, limits),
      ulimits: ulimits(cgroups, backend, limits),
      onSpawned: (outer) => {
        record.outer = outer;
        record.starts += 1;
        this.save(record);
      },
      onExit,
    });
    await this.becomeRunning(record);
  }

  /** The second half of a start: also for what a killed server had spawned. */
  async becomeRunning(record: SandboxRecord): Promise<void> {
    const { outer } = record;
    if (outer === null) throw new Error(`Sandbox ${record.id} was not spawned.`);
    const place = this.placeOf(record);
    const result = await untilReady(place, this.machine.backend, outer);
    if (result === 'timeout' || result === 'failed') {
      await this.endProcesses(record, 0);
      const said = readText(logFile(place)).trim().slice(-500);
      this.#log(`Sandbox ${record.id} could not be built (${result}): ${said}`);
      throw result === 'timeout'
        ? new ApiError(504, 'LOCAL::POD_READY_TIMEOUT', `Sandbox ${record.id} did not start in time.`)
        : new ApiError(500, 'LOCAL::SANDBOX_START_FAILED', 'The sandbox could not be built.', said);
    }
    record.init = result.init;
    transition(record, 'Running', 'DependenciesReady', 'Pod is Ready; Service Exists');
    this.save(record);
  }

  /** A start that nobody waits for: its failure becomes the state. */
  async startOrFail(record: SandboxRecord, onExit: () => void): Promise<void> {
    try {
      await this.start(record, onExit);
    } catch (error) {
      transition(record, 'Failed', 'START_FAILED', messageOf(error));
      this.save(record);
    }
  }

  /** A start in which an earlier server was killed: what runs is kept, what never began is begun. */
  async finishStart(record: SandboxRecord, onExit: () => void): Promise<void> {
    const hasBegun = this.isRunning(record) || exitCodeOf(this.placeOf(record)) !== null;
    if (record.outer !== null && !isOfEarlierBoot(record.outer) && hasBegun) {
      const isAdopted = await this.becomeRunning(record).then(
        () => true,
        () => false,
      );
      if (isAdopted) return;
    }
    await this.startOrFail(record, onExit);
  }

  clearWorkspace(record: SandboxRecord): void {
    clearWorkspace(this.placeOf(record));
  }

  /** Notes how the processes of a running sandbox have ended. */
  recordEnd(record: SandboxRecord): void {
    const { cgroups } = this.machine;
    const exitCode = exitCodeOf(this.placeOf(record)) ?? KILLED_EXIT_CODE;
    record.exitCode = exitCode;
    if (exitCode === 0) {
      transition(record, 'Terminated', 'CONTAINER_EXITED', 'Sandbox container exited successfully.');
    } else {
      const isOutOfMemory =
        cgroups !== null && exitCode === KILLED_EXIT_CODE && hadOutOfMemoryKill(cgroups, record.id);
      const reason = isOutOfMemory ? 'OOMKilled' : 'CONTAINER_EXITED_ERROR';
      transition(record, 'Failed', reason, `Sandbox container exited with code ${exitCode}.`);
    }
    this.save(record);
  }

  /** Lets frozen processes go on. */
  thaw(record: SandboxRecord): void {
    if (record.frozen !== null) thaw(record.frozen, this.machine, this.placeOf(record), record);
  }

  /** All processes and their control groups. */
  async endProcesses(record: SandboxRecord, graceMs: number): Promise<void> {
    const { backend, cgroups } = this.machine;
    await stop(this.placeOf(record), backend, record, graceMs, () => this.thaw(record));
    if (cgroups !== null) await removeCgroup(cgroups, record.id);
  }

  /**
   * @param withVolume removes what is mounted at /workspace, too.
   * @throws ApiError 500 when something could not be removed; it may be tried again.
   */
  async erase(record: SandboxRecord, { withVolume }: { withVolume: boolean }): Promise<void> {
    const { home, volume } = this.placeOf(record);
    try {
      await this.endProcesses(record, 0);
      if (withVolume && volume !== null) removeVolume(volume);
      await rm(home, { recursive: true, force: true });
    } catch (error) {
      const message = messageOf(error);
      this.#log(`Sandbox ${record.id} could not be deleted: ${message}`);
      throw new ApiError(500, 'LOCAL::SANDBOX_DELETE_FAILED', `Failed to delete sandbox: ${message}`);
    }
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
