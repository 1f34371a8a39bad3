/**
 * Runs commands and moves files inside a sandbox, straight by the data plane of the sandbox API: what people look at
 * or copy by hand does not go through Temporal.
 */

import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { type Dispatcher, request } from 'undici';
import type { Environment } from './dev-session.js';
import { LonghaulError } from './errors.js';

/** Where execd listens in every sandbox. */
const EXECD_PORT = 44_772;
/** Commands say something every 3 s, and files come without pauses. */
const IDLE_TIMEOUT_MS = 60_000;
const ERROR_MAX_CHARS = 64 * 1024;

/** The data plane was reached, and cannot or will not do it. */
export class SandboxRefusal extends Error {
  override readonly name = 'SandboxRefusal';

  /** @param code as the API has it, without its prefix. */
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

export interface FileEntry {
  readonly path: string;
  readonly type?: string;
  readonly size: number;
  readonly modified_at?: string;
  readonly mode?: number;
  readonly owner?: string;
}

interface CommandEvent {
  readonly type?: string;
  readonly text?: string;
  readonly code?: string;
  readonly message?: string;
  readonly error?: { readonly evalue?: string; readonly traceback?: readonly string[] };
}

/** How a command ended. */
export interface CommandEnd {
  /** -1 after a signal; `null`: it never ran. */
  readonly exitCode: number | null;
  /** E.g. `signal: killed`. */
  readonly reason: string;
}

/** Every call throws SandboxRefusal and LonghaulError SANDBOX_API_UNREACHABLE, API_KEY_REJECTED. */
export class SandboxInside {
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;

  /**
   * @param env names the API by `OPEN_SANDBOX_API_URL` and `OPEN_SANDBOX_API_KEY`, and maybe its gateway by
   *   `OPEN_SANDBOX_GATEWAY_URL`.
   * @throws LonghaulError SANDBOX_API_UNREACHABLE when it does not.
   */
  constructor(env: Environment, sandboxId: string) {
    const {
      OPEN_SANDBOX_API_URL: apiUrl,
      OPEN_SANDBOX_API_KEY: apiKey,
      OPEN_SANDBOX_GATEWAY_URL: gateway,
    } = env;
    if (!apiUrl || !apiKey) {
      throw new LonghaulError('SANDBOX_API_UNREACHABLE', 'The sandbox API is not known here.', {
        remedy: 'set OPEN_SANDBOX_API_URL and OPEN_SANDBOX_API_KEY to what the worker has',
      });
    }
    const url = (gateway || apiUrl).replace(/\/+$/, '');
    const base = /^https?:\/\//.test(url) ? url : `http://${url}`;
    this.#base = gateway ? base : `${base}/sandboxes/${encodeURIComponent(sandboxId)}/proxy/${EXECD_PORT}`;
    this.#headers = {
      'open-sandbox-api-key': apiKey,
      ...(gateway ? { 'opensandbox-ingress-to': `${sandboxId}-${EXECD_PORT}` } : {}),
    };
  }

  /**
   * Runs a command to its end.
   * @param onStarted is told its ID, by which it can be interrupted.
   * @param onOutput is waited for, so that a slow reader slows the command down.
   */
  async run(
    command: {
      readonly command: string;
      readonly cwd?: string;
      readonly envs?: Readonly<Record<string, string>>;
    },
    onStarted: (commandId: string) => void,
    onOutput: (stream: 'stdout' | 'stderr', text: string) => Promise<void>,
  ): Promise<CommandEnd> {
    const response = await this.#send('POST', 'command', {
      body: JSON.stringify(command),
      headers: { 'content-type': 'application/json' },
    });
    try {
      for await (const event of readEvents(response.body)) {
        const { type, text = '', error, code, message } = event;
        if (type === 'init') onStarted(text);
        if (type === 'stdout' || type === 'stderr') await onOutput(type, text === '\n' ? text : `${text}\n`);
        if (type === 'execution_complete') return { exitCode: 0, reason: '' };
        if (type === 'error') {
          const value = error?.evalue ?? '';
          const exitCode = /^-?\d+$/.test(value) ? Number(value) : null;
          return { exitCode, reason: error?.traceback?.join('; ') || value };
        }
        if (code !== undefined) throw new SandboxRefusal(code, message ?? code);
      }
    } catch (error) {
      throw error instanceof SyntaxError || isOfNetwork(error) ? this.#unreachable(error) : error;
    } finally {
      response.body.destroy();
    }
    throw new SandboxRefusal(
      'CUT_OFF',
      'The sandbox ended, or the connection to it broke, before the command had ended.',
    );
  }

  async interrupt(commandId: string): Promise<void> {
    const response = await this.#send('DELETE', `command?${new URLSearchParams({ id: commandId })}`);
    await response.body.dump();
  }

  /** The files and folders directly in a folder. */
  async list(path: string): Promise<FileEntry[]> {
    const response = await this.#send('GET', `directories/list?${new URLSearchParams({ path })}`);
    return (await response.body.json()) as FileEntry[];
  }

  /** Fails in the middle when the file is cut short on the way. */
  async download(path: string): Promise<Readable> {
    const response = await this.#send('GET', `files/download?${new URLSearchParams({ path })}`);
    return response.body;
  }

  /** What is there is replaced, once everything has arrived. @param mode octal digits, e.g. 644; 0: as it is. */
  async upload(path: string, content: Readable, mode: number): Promise<void> {
    const boundary = `longhaul-${randomUUID()}`;
    const body = Readable.from(formOf(boundary, { path, ...(mode === 0 ? {} : { mode }) }, content));
    const response = await this.#send('POST', 'files/upload', {
      body,
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    });
    await response.body.dump();
  }

  async #send(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    more: { readonly body?: string | Readable; readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Dispatcher.ResponseData> {
    let response: Dispatcher.ResponseData;
    try {
      response = await request(`${this.#base}/${path}`, {
        method,
        headers: { ...this.#headers, ...more.headers },
        body: more.body ?? null,
        headersTimeout: IDLE_TIMEOUT_MS,
        bodyTimeout: IDLE_TIMEOUT_MS,
      });
    } catch (error) {
      throw isOfNetwork(error) ? this.#unreachable(error) : error;
    }
    const { statusCode: status, body } = response;
    if (status >= 200 && status < 300) return response;
    const { code, message } = readError((await body.text()).slice(0, ERROR_MAX_CHARS), status);
    if ((status === 401 || status === 403) && /API_KEY/.test(code)) {
      throw new LonghaulError('API_KEY_REJECTED', 'The sandbox API refused the API key.', {
        remedy: 'set OPEN_SANDBOX_API_KEY to what the worker has',
      });
    }
    throw new SandboxRefusal(code, message);
  }

  #unreachable(error: unknown): LonghaulError {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = typeof code === 'string' ? code : message;
    return new LonghaulError(
      'SANDBOX_API_UNREACHABLE',
      `The sandbox API at ${new URL(this.#base).origin} did not answer (${why}).`,
      {
        remedy: 'check OPEN_SANDBOX_API_URL and OPEN_SANDBOX_GATEWAY_URL, and that the API runs',
        cause: error,
      },
    );
  }
}

/** Each event is a line of JSON; real server-sent events have `data:` before it. */
async function* readEvents(body: AsyncIterable<Buffer>): AsyncGenerator<CommandEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines.flatMap(parseEvent);
  }
  yield* parseEvent(rest);
}

function parseEvent(line: string): CommandEvent[] {
  const text = line.replace(/^data:/, '').trim();
  return text.startsWith('{') ? [JSON.parse(text) as CommandEvent] : [];
}

/** Both parts with a filename: a plain field would be refused. */
async function* formOf(
  boundary: string,
  metadata: object,
  content: Readable,
): AsyncGenerator<string | Uint8Array> {
  const part = (name: string) =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"; filename="${name}"\r\n\r\n`;
  yield `${part('metadata')}${JSON.stringify(metadata)}\r\n${part('file')}`;
  yield* content;
  yield `\r\n--${boundary}--\r\n`;
}

function readError(body: string, status: number): { readonly code: string; readonly message: string } {
  try {
    const { code, message } = JSON.parse(body) as { code?: unknown; message?: unknown };
    if (typeof code === 'string') {
      return { code: code.split('::').at(-1) ?? code, message: String(message ?? code) };
    }
  } catch {
    // A page of something between us and the API.
  }
  return { code: 'NO_CODE', message: `The sandbox API answered ${status}.` };
}

/** And not of the disk, which has an `errno` and a `path`. */
function isOfNetwork(error: unknown): boolean {
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  if (typeof code !== 'string') return false;
  return (
    code.startsWith('UND_ERR_') || (path === undefined && syscall !== 'write' && /^E[A-Z_]+$/.test(code))
  );
}
