/** What clients may ask for, and when it is refused. */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { FIRST_UID } from './backends/detect.js';
import type { SandboxSpec } from './create-request.js';
import { wrongState } from './errors.js';
import { patchMetadata } from './labels.js';
import { linger } from './operations.js';
import { beginPause, failPause, finishPause, resumeFrozen } from './pausing.js';
import { newRecord, type SandboxRecord, transition } from './record.js';
import type { Sandboxes } from './sandboxes.js';
import { makeVolume, ownerOfVolume, refuseMissingVolume, type Volume, volumeFolder } from './volumes.js';

/** A pause or resume that takes longer is answered before it is done. */
const ANSWER_WITHIN_MS = 50;

/** What a fault rule has ordered for one operation. */
export interface Trouble {
  /** A create or resume stays `Pending` for this long; `Infinity`: until it is deleted. */
  readonly pendingForMs?: number;
  /** A pause is `Pausing` for this long, and `Running` again then. */
  readonly pauseFailsAfterMs?: number;
  /** A pause is `Pausing` for at least this long. */
  readonly pausingForMs?: number;
  /** A resume is accepted, and nothing happens. */
  readonly resumeIsIgnored?: boolean;
}

/**
 * Answers when the entrypoint has been started, whatever becomes of it then.
 * @throws ApiError when it could not be; nothing is left then.
 */
export async function create(
  sandboxes: Sandboxes,
  spec: SandboxSpec,
  { pendingForMs }: Trouble = {},
): Promise<SandboxRecord> {
  sandboxes.refuseWhenClosing();
  refuseMissingVolume(sandboxes.steps.dataDir, spec.volume);
  const record = newRecord(newIdentity(sandboxes, spec.volume), spec);
  sandboxes.add(record);
  if (pendingForMs !== undefined) {
    startLater(sandboxes, record, pendingForMs);
    return record;
  }
  try {
    let started = record;
    await sandboxes.operate(record, async () => {
      await sandboxes.steps.start(record, sandboxes.exitOf(record));
      started = { ...record };
    });
    return started;
  } catch (error) {
    await sandboxes.delete(record.id);
    throw error;
  }
}

/** @throws ApiError 404, or 409 unless it is running. */
export async function pause(
  sandboxes: Sandboxes,
  id: string,
  { pausingForMs = 0, pauseFailsAfterMs }: Trouble = {},
): Promise<void> {
  const { steps } = sandboxes;
  sandboxes.refuseWhenClosing();
  const record = sandboxes.get(id);
  refuseWhileChanging(record);
  if (record.state !== 'Running') {
    throw wrongState('SANDBOX_NOT_RUNNING', 'Sandbox is not in a running state.');
  }
  beginPause(steps, record);
  const operation = sandboxes.operate(record, async (hurry) => {
    if (pauseFailsAfterMs === undefined) {
      return await finishPause(steps, record, () => linger(pausingForMs, hurry));
    }
    await linger(pauseFailsAfterMs, hurry);
    failPause(steps, record, 'The pause failed, as a fault rule has ordered.');
  });
  await answerSoon(sandboxes, operation);
}

/** @throws ApiError 404, or 409 unless it is paused. */
export async function resume(
  sandboxes: Sandboxes,
  id: string,
  { pendingForMs, resumeIsIgnored = false }: Trouble = {},
): Promise<void> {
  sandboxes.refuseWhenClosing();
  const record = sandboxes.get(id);
  refuseWhileChanging(record);
  if (record.state !== 'Paused') {
    throw wrongState('SANDBOX_NOT_PAUSED', 'Sandbox is not in a paused state.');
  }
  if (resumeIsIgnored) return;
  const keepsTime = record.frozen !== null;
  const state = pendingForMs === undefined ? 'Resuming' : 'Pending';
  transition(record, state, 'Resuming', 'The sandbox is being resumed.', { keepsTime });
  sandboxes.steps.save(record);
  if (pendingForMs !== undefined) return startLater(sandboxes, record, pendingForMs);
  await answerSoon(
    sandboxes,
    sandboxes.operate(record, () => startOrThaw(sandboxes, record)),
  );
}

/** @throws ApiError 404, 409 for a sandbox that never expires. */
export function renew(sandboxes: Sandboxes, id: string, expiresAt: Date): void {
  const record = sandboxes.get(id);
  if (record.expiresAt === null) {
    throw wrongState('INVALID_EXPIRATION', `Sandbox ${id} does not have automatic expiration enabled.`);
  }
  record.expiresAt = expiresAt.toISOString();
  sandboxes.steps.save(record);
}

/** @returns the sandbox with its new metadata. @throws ApiError 404, 400, RequestShapeError 422 */
export function relabel(sandboxes: Sandboxes, id: string, patch: unknown): SandboxRecord {
  const record = sandboxes.get(id);
  record.spec = { ...record.spec, metadata: patchMetadata(record.spec.metadata, patch) };
  sandboxes.steps.save(record);
  return record;
}

/** A user of the host for each sandbox; those that share a volume share its files, and so the user. */
function newIdentity(sandboxes: Sandboxes, volume: Volume | null): { id: string; uid: number | null } {
  const { steps } = sandboxes;
  const id = randomUUID();
  if (process.getuid?.() !== 0 || !steps.machine.backend.isolated) return { id, uid: null };
  const owner = volume === null ? null : ownerOfVolume(volumeFolder(steps.dataDir, volume));
  if (owner !== null) return { id, uid: owner };
  const uid = FIRST_UID + 1 + Number.parseInt(id.slice(0, 6), 16);
  const isTaken = sandboxes.all().some((record) => record.uid === uid);
  if (isTaken) return newIdentity(sandboxes, volume);
  // At once, so that another one on the same new volume finds its owner.
  if (volume !== null) makeVolume(volumeFolder(steps.dataDir, volume), uid);
  return { id, uid };
}

async function startOrThaw(sandboxes: Sandboxes, record: SandboxRecord): Promise<void> {
  if (record.frozen !== null) resumeFrozen(sandboxes.steps, record);
  else await sandboxes.steps.startOrFail(record, sandboxes.exitOf(record));
}

/** Stays as it is when the delay is cut short: it is being deleted, or for the next server to start. */
function startLater(sandboxes: Sandboxes, record: SandboxRecord, delayMs: number): void {
  if (delayMs === Number.POSITIVE_INFINITY) return;
  const operation = sandboxes.operate(record, async (hurry) => {
    await linger(delayMs, hurry);
    if (!hurry.aborted) await startOrThaw(sandboxes, record);
  });
  operation.catch((error) => sandboxes.log(`${error}`));
}

/** The work goes on behind the answer; its failure is then only seen in the state. */
async function answerSoon(sandboxes: Sandboxes, operation: Promise<void>): Promise<void> {
  const done = operation.catch((error) => sandboxes.log(`${error}`));
  await Promise.race([done, sleep(ANSWER_WITHIN_MS)]);
}

function refuseWhileChanging({ state }: SandboxRecord): void {
  if (state === 'Pending' || state === 'Pausing' || state === 'Resuming') {
    throw wrongState('INVALID_STATE', `Sandbox is ${state}; try again when that is over.`);
  }
}
