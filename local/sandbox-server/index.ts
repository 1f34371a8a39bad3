/** The local sandbox server: the Agent Sandboxes API on 127.0.0.1, with real isolated processes behind it. */

import { resolve } from 'node:path';
import type { BackendName } from './backends/backend.js';
import { detectBackend } from './backends/detect.js';
import { detectCgroups, removeStaleCgroups } from './cgroups.js';
import { bindToKind, makeDataFolder, removeProbes } from './data-folder.js';
import { createDialer } from './dial.js';
import { Faults } from './faults/faults.js';
import { listen } from './http-servers.js';
import { lockFolder } from './lock.js';
import { Sandboxes } from './sandboxes.js';
import type { PauseKind } from './steps.js';

export type { BackendName } from './backends/backend.js';
export type { PauseKind } from './steps.js';

const ANSWER_TIMEOUT_MS = 180_000;

export interface SandboxServerOptions {
  /** Where the sandboxes live, each in a folder `{id}` with its `workspace`; made when missing. */
  readonly dataDir: string;
  /** 0: a free one. */
  readonly port: number;
  /** Default: a free one. */
  readonly gatewayPort?: number;
  readonly apiKey: string;
  /** Holds a root folder for each image name that is not to be the host itself, with `_` for `/`; default: none. */
  readonly imagesDir?: string;
  /** Default: the best one that works here. */
  readonly backend?: BackendName;
  /** How long an agent may take to begin an answer before it is a 504; default: 180 s, as upstream. */
  readonly answerTimeoutMs?: number;
  /** What a pause does to the processes; default: `pod`. */
  readonly pauseKind?: PauseKind;
  /** Whether faults may be ordered by `/__faults`; default: no, and there is no such path. */
  readonly faults?: boolean;
  /** Lines for people; default: none. */
  readonly log?: (line: string) => void;
}

export interface SandboxServer {
  readonly url: string;
  readonly gatewayUrl: string;
  readonly backend: BackendName;
  /** What to know about isolation and limits on this machine. */
  readonly notes: readonly string[];
  /**
   * Ends all processes of the sandboxes. The next server on this folder starts again what was running;
   * with `deleteAll` nothing is left of them.
   */
  close(options?: { readonly deleteAll?: boolean }): Promise<void>;
}

/**
 * Starts the server and takes over what an earlier one left in the folder.
 * @throws Error when the folder is in use, a port is taken, or the wanted back end does not work here.
 */
export async function startSandboxServer(options: SandboxServerOptions): Promise<SandboxServer> {
  const { apiKey, port, gatewayPort = 0, pauseKind = 'pod', log = () => undefined } = options;
  if (apiKey === '') throw new Error('The sandbox server needs an API key that is not empty.');
  const dataDir = resolve(options.dataDir);
  makeDataFolder(dataDir);
  const unlock = lockFolder(dataDir);
  try {
    removeProbes(dataDir);
    const { backend, notes: isolationNotes } = await detectBackend(dataDir, options.backend);
    bindToKind(dataDir, backend);
    const cgroups = detectCgroups();
    if (cgroups !== null) removeStaleCgroups(cgroups);
    const dialer = createDialer(backend);
    const limitsNote =
      'Control groups cannot be used here: CPU is not limited, memory only per process. As root they could be.';
    const notes = [
      ...isolationNotes,
      ...(cgroups === null ? [limitsNote] : []),
      ...(dialer.note === null ? [] : [dialer.note]),
    ];
    const imagesDir = options.imagesDir === undefined ? null : resolve(options.imagesDir);
    const http = await listen(port, gatewayPort);
    const { answerTimeoutMs = ANSWER_TIMEOUT_MS } = options;
    const machine = { backend, cgroups, dialer, imagesDir, pauseKind, answerTimeoutMs };
    const faults = options.faults === true ? new Faults() : null;
    const sandboxes = new Sandboxes(dataDir, machine, log, (record) => faults?.history.note(record));
    http.serve({ sandboxes, apiKey, faults, log });
    return {
      url: http.url,
      gatewayUrl: http.gatewayUrl,
      backend: backend.name,
      notes,
      close: async (closeOptions) => {
        try {
          await sandboxes.close(closeOptions);
        } finally {
          await http.close();
          unlock();
        }
      },
    };
  } catch (error) {
    unlock();
    throw error;
  }
}
