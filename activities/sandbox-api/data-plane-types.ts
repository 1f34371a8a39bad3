/** What the client of the data plane takes and gives. */

import type { Readable } from 'node:stream';
import type { StreamEvent } from './data-plane-events.js';

export interface FileInfo {
  readonly path: string;
  /** `file`, `directory`, `symlink`, `other`; `null` where the server does not tell. */
  readonly type: string | null;
  readonly sizeBytes: number;
  readonly modifiedAt: string | null;
  /** Octal digits, e.g. `644`. */
  readonly mode: string;
}

export interface Download {
  /** Must be read to its end or destroyed. It fails when the file is cut short on the way. */
  readonly body: Readable;
  /** Of the whole file, also of a part of it. */
  readonly sizeBytes: number;
}

export interface Command {
  /** For a shell. */
  readonly command: string;
  /** Default: the sandbox's own. */
  readonly cwd?: string;
  /** The command is killed then; default: no limit. */
  readonly timeoutMs?: number;
  readonly envs?: Readonly<Record<string, string>>;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** Every call throws ConflictError, RefusedError, UnreachableError, SandboxNotFoundError, KeyRejectedError, RateLimitedError and the signal's reason. */
export interface DataPlane {
  /**
   * Makes missing folders. What is there is replaced, once everything has arrived.
   * @param options `mode` in octal digits, e.g. `644`; default: as the server has it.
   */
  uploadFile(
    sandboxId: string,
    path: string,
    body: Readable | string | Uint8Array,
    options?: CallOptions & { readonly mode?: string },
  ): Promise<void>;
  /** @param options `range`: offsets of bytes, the last one included. @returns `null` when there is no such file. */
  downloadFile(
    sandboxId: string,
    path: string,
    options?: CallOptions & { readonly range?: { readonly first: number; readonly last?: number } },
  ): Promise<Download | null>;
  /** `null` when there is nothing of this name. Links are not followed. */
  fileInfo(sandboxId: string, path: string, options?: CallOptions): Promise<FileInfo | null>;
  /** All files below a folder whose names fit, e.g. `*.txt`. */
  searchFiles(sandboxId: string, folder: string, pattern: string, options?: CallOptions): Promise<FileInfo[]>;
  /**
   * Runs a command to its end. Waits for each `onEvent` before it reads on. An aborted signal ends the command, too.
   * @returns its exit code; -1 when a signal has ended it.
   * @throws UnreachableError also when the stream breaks off: the command may go on.
   */
  runCommand(
    sandboxId: string,
    command: Command,
    onEvent: (event: StreamEvent) => void | Promise<void>,
    options?: CallOptions,
  ): Promise<{ readonly exitCode: number }>;
  close(): Promise<void>;
}
