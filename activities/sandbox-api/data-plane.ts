/**
 * Commands and files inside a running sandbox, by the execd that OpenSandbox has in each. Apart from `SandboxApi`,
 * whose calls are short: these stream, and nothing of them is held in memory.
 */

import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { readEvents } from './data-plane-events.js';
import { broken, DataPlaneConnection, type DataPlaneOptions } from './data-plane-request.js';
import type { DataPlane, FileInfo } from './data-plane-types.js';
import { RefusedError, SandboxApiError, UnreachableError } from './errors.js';
import { readBody } from './read-body.js';

export type { StreamEvent } from './data-plane-events.js';
export type { DataPlaneOptions } from './data-plane-request.js';
export type * from './data-plane-types.js';

/** Of a list of files: some 100,000 of them. */
const LIST_MAX_BYTES = 32 * 2 ** 20;
/** Longer than the 3 s that execd gives a command to end by itself. */
const INTERRUPT_TIMEOUT_MS = 6000;

const fileInfo = z.looseObject({
  path: z.string(),
  type: z.string().optional(),
  size: z.number(),
  modified_at: z.string().optional(),
  mode: z.number().optional(),
});

/**
 * Makes no request by itself.
 * @throws TypeError when the key is one that no request can carry.
 */
export function connectDataPlane(options: DataPlaneOptions): DataPlane {
  const connection = new DataPlaneConnection(options);

  return {
    async uploadFile(sandboxId, path, body, { mode, signal } = {}) {
      const boundary = `longhaul-${randomUUID()}`;
      const metadata = { path, ...(mode === undefined ? {} : { mode: Number(mode) }) };
      const source: { error?: unknown } = {};
      const sent = connection.send(sandboxId, {
        method: 'POST',
        path: 'files/upload',
        pattern: '/files/upload',
        headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
        body: Readable.from(formOf(boundary, metadata, reading(body, source))),
        signal,
      });
      const { response } = await sent.catch((error) => {
        throw 'error' in source ? source.error : error;
      });
      await response.body.dump();
    },

    async downloadFile(sandboxId, path, { range, signal } = {}) {
      const answer = await orNull(
        connection.send(sandboxId, {
          method: 'GET',
          path: `files/download?${new URLSearchParams({ path })}`,
          pattern: '/files/download',
          headers: range === undefined ? {} : { range: `bytes=${range.first}-${range.last ?? ''}` },
          signal,
        }),
      );
      if (answer === null) return null;
      const { headers, body } = answer.response;
      const whole = /\/(\d+)$/.exec(String(headers['content-range'] ?? ''))?.[1];
      return { body, sizeBytes: Number(whole ?? headers['content-length']) };
    },

    async fileInfo(sandboxId, path, { signal } = {}) {
      const found = await orNull(
        readJson(
          sandboxId,
          `files/info?${new URLSearchParams({ path })}`,
          '/files/info',
          z.record(z.string(), fileInfo),
          signal,
        ),
      );
      const info = found === null ? undefined : Object.values(found)[0];
      return info === undefined ? null : toFileInfo(info);
    },

    async searchFiles(sandboxId, folder, pattern, { signal } = {}) {
      const query = new URLSearchParams({ path: folder, pattern });
      const found = await readJson(
        sandboxId,
        `files/search?${query}`,
        '/files/search',
        z.array(fileInfo),
        signal,
      );
      return found.map(toFileInfo);
    },

    async runCommand(sandboxId, { command, cwd, timeoutMs, envs }, onEvent, { signal } = {}) {
      const exchange = { method: 'POST', path: 'command', pattern: '/command' } as const;
      const asked = {
        command,
        ...(cwd && { cwd }),
        ...(timeoutMs && { timeout: timeoutMs }),
        ...(envs && { envs }),
      };
      const { response, requestId } = await connection.send(sandboxId, {
        ...exchange,
        headers: { accept: 'text/event-stream' },
        body: JSON.stringify(asked),
        signal,
      });
      const events = readEvents(response.body);
      let commandId = '';
      try {
        for (;;) {
          const { value: event } = await events.next().catch((error) => {
            throw signal?.aborted ? signal.reason : broken(exchange, requestId, error);
          });
          if (!event) throw broken(exchange, requestId, new Error('the stream ended before the command had'));
          if (event.kind === 'started') commandId = event.commandId;
          await onEvent(event);
          if (event.kind !== 'ended') continue;
          if (event.exitCode === null) throw notRun(event.reason, requestId);
          return { exitCode: event.exitCode };
        }
      } finally {
        await events.return(undefined);
        if (signal?.aborted) await interrupt(sandboxId, commandId);
      }
    },

    close: () => connection.close(),
  };

  async function readJson<T>(
    sandboxId: string,
    path: string,
    pattern: string,
    schema: z.ZodType<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const { response, requestId } = await connection.send(sandboxId, {
      method: 'GET',
      path,
      pattern,
      signal,
    });
    const answer = await readBody(response, LIST_MAX_BYTES, 'stop');
    const status = response.statusCode;
    const parsed = schema.safeParse(parseOrNull(answer.body.toString('utf8')));
    if (answer.exceededBytes === null && parsed.success) return parsed.data;
    const route = `GET ${pattern}`;
    const message = `The data plane answered ${status} to ${route} with something that is not its answer.`;
    throw new UnreachableError({ message, status, code: null, requestId, route }, false);
  }

  /** As well as it can be done: who has given up does not wait long for it. */
  async function interrupt(sandboxId: string, commandId: string): Promise<void> {
    if (commandId === '') return;
    const path = `command?${new URLSearchParams({ id: commandId })}`;
    const signal = AbortSignal.timeout(INTERRUPT_TIMEOUT_MS);
    await connection
      .send(sandboxId, { method: 'DELETE', path, pattern: '/command', signal })
      .then(({ response }) => response.body.dump())
      .catch(() => undefined);
  }
}

/** Both parts with a filename: a plain field would be refused. */
async function* formOf(
  boundary: string,
  metadata: object,
  body: AsyncIterable<Uint8Array | string>,
): AsyncGenerator<string | Uint8Array> {
  const part = (name: string) =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"; filename="${name}"\r\ncontent-type: application/octet-stream\r\n\r\n`;
  yield `${part('metadata')}${JSON.stringify(metadata)}\r\n${part('file')}`;
  yield* body;
  yield `\r\n--${boundary}--\r\n`;
}

/** Notes the error of a source that fails: it is not one of the network. */
async function* reading(
  body: Readable | string | Uint8Array,
  source: { error?: unknown },
): AsyncGenerator<string | Uint8Array> {
  try {
    if (body instanceof Readable) yield* body;
    else if (body.length > 0) yield body;
  } catch (error) {
    source.error = error;
    throw error;
  }
}

function toFileInfo(info: z.infer<typeof fileInfo>): FileInfo {
  const { path, type = null, size, modified_at: modifiedAt = null, mode = 0 } = info;
  return { path, type, sizeBytes: size, modifiedAt, mode: `${mode}` };
}

async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof SandboxApiError && error.code === 'FILE_NOT_FOUND') return null;
    throw error;
  }
}

function notRun(reason: string, requestId: string): RefusedError {
  const route = 'POST /command';
  return new RefusedError({
    message: `The command could not be run (${reason}).`,
    status: 200,
    code: 'RUNTIME_ERROR',
    requestId,
    route,
  });
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
