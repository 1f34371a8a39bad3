/** What is known of a sandbox, and how it outlives the server: one JSON file per sandbox, replaced whole. */

import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SandboxSpec } from './create-request.js';
import type { Freezer } from './freezer.js';
import { type ProcessIdentity, readText } from './processes.js';

export type SandboxState =
  | 'Pending'
  | 'Running'
  | 'Pausing'
  | 'Paused'
  | 'Resuming'
  | 'Failed'
  | 'Terminated';

export interface SandboxEvent {
  readonly at: string;
  readonly reason: string;
  readonly message: string;
}

export interface SandboxRecord {
  readonly id: string;
  spec: SandboxSpec;
  /** The host's user that its processes belong to; `null` for the user of the server. */
  readonly uid: number | null;
  readonly createdAt: string;
  expiresAt: string | null;
  state: SandboxState;
  reason: string;
  message: string;
  lastTransitionAt: string;
  /** The process that we spawned; the sandbox's own first process is its child. */
  outer: ProcessIdentity | null;
  /** First process inside; its end is the end of all of them. */
  init: ProcessIdentity | null;
  /** How its processes are stopped where they are, while it is paused that way. */
  frozen: Freezer | null;
  /** How often the entrypoint was started. */
  starts: number;
  exitCode: number | null;
  /** Set before the first thing is taken away, so that a deletion that was cut off is finished. */
  deleting: boolean;
  /** The server took its processes along when it stopped; the next server starts them again. */
  stoppedWithServer: boolean;
  events: SandboxEvent[];
}

const MAX_EVENTS = 100;
const RECORD = 'sandbox.json';
export const SANDBOX_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function saveRecord(home: string, record: SandboxRecord): void {
  const draft = join(home, `${RECORD}.new`);
  writeFileSync(draft, JSON.stringify(record), { mode: 0o600 });
  renameSync(draft, join(home, RECORD));
}

/** A sandbox of which nothing exists yet. */
export function newRecord(
  identity: Pick<SandboxRecord, 'id' | 'uid'>,
  spec: SandboxSpec,
  now = new Date(),
): SandboxRecord {
  const expiresAt =
    spec.timeoutSeconds === null ? null : new Date(now.getTime() + spec.timeoutSeconds * 1000).toISOString();
  const record: SandboxRecord = {
    ...identity,
    spec,
    createdAt: now.toISOString(),
    expiresAt,
    state: 'Pending',
    reason: '',
    message: '',
    lastTransitionAt: '',
    outer: null,
    init: null,
    frozen: null,
    starts: 0,
    exitCode: null,
    deleting: false,
    stoppedWithServer: false,
    events: [],
  };
  transition(record, 'Pending', 'Creating', 'The sandbox is being created.');
  return record;
}

/**
 * Changes the state, and notes why for the events. The caller saves.
 * @param keepsTime leaves `lastTransitionAt` as it is, as upstream does when it freezes and thaws.
 */
export function transition(
  record: SandboxRecord,
  state: SandboxState,
  reason: string,
  message: string,
  { keepsTime = false } = {},
): void {
  const at = new Date().toISOString();
  Object.assign(record, { state, reason, message });
  if (!keepsTime) record.lastTransitionAt = at;
  record.events = [...record.events, { at, reason, message }].slice(-MAX_EVENTS);
}

/**
 * All records of a data folder, oldest first. A folder without one is a create that was cut off before
 * it counted, or the rest of a deletion: it is removed. One with an unreadable record is left alone.
 */
export function loadRecords(dataDir: string, log: (line: string) => void): SandboxRecord[] {
  const records: SandboxRecord[] = [];
  for (const name of readdirSync(dataDir).filter((each) => SANDBOX_ID.test(each))) {
    const home = join(dataDir, name);
    if (!readdirSync(home).includes(RECORD)) {
      rmSync(home, { recursive: true, force: true });
      continue;
    }
    try {
      const record = JSON.parse(readText(join(home, RECORD))) as SandboxRecord;
      // Servers that could not freeze, or had no volumes, left no word of it.
      const spec = { ...record.spec, volume: record.spec.volume ?? null };
      records.push({ ...record, spec, frozen: record.frozen ?? null });
    } catch {
      log(`The record of sandbox ${name} cannot be read; its folder ${home} is left as it is.`);
    }
  }
  return records.sort((a, b) => a.createdAt.localeCompare(b.createdAt));
}
