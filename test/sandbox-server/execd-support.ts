/** Requests to execd in a sandbox, as clients send them. */

import { rmSync } from 'node:fs';
import { detectBackend } from '../../local/sandbox-server/backends/detect.js';
import type { BackendName } from '../../local/sandbox-server/index.js';
import { type Answer, API_KEY, type Client, readAnswer, temporaryFolder } from './support.js';

/** The least that keeps a sandbox running. */
export const IDLE = { entrypoint: ['sleep', '100000'] };

export interface CommandEvent {
  readonly type?: string;
  readonly text?: string;
  readonly timestamp?: number;
  readonly execution_time?: number;
  readonly error?: { readonly ename: string; readonly evalue: string; readonly traceback: string[] };
  readonly code?: string;
}

export interface Execd {
  readonly id: string;
  /** Below it are execd's paths. */
  readonly url: string;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** The events of a command, pings aside. */
  run(command: string | Record<string, unknown>, path?: string): Promise<CommandEvent[]>;
  /** What a command writes to its standard output. */
  output(command: string | Record<string, unknown>): Promise<string>;
  /** As forms are sent; `metadata` and `file` are files. */
  upload(...parts: [name: 'metadata' | 'file' | 'field', content: string | Blob][]): Promise<Answer>;
  put(path: string, content: string | Blob, more?: Record<string, unknown>): Promise<void>;
}

export function execdOf(client: Client, id: string): Execd {
  const base = `/sandboxes/${id}/proxy/44772`;
  const execd: Execd = {
    id,
    url: client.url + base,
    call: (method, path, body, headers) => client.call(method, base + path, body, headers),
    async run(command, path = '/command') {
      const body = typeof command === 'string' ? { command } : command;
      const { status, text } = await execd.call('POST', path, body);
      if (status !== 200) throw new Error(`${status} ${text}`);
      return eventsOf(text).filter(({ type }) => type !== 'ping');
    },
    async output(command) {
      const events = await execd.run(command);
      return events
        .filter(({ type }) => type === 'stdout')
        .map(({ text = '' }) => (text === '\n' ? text : `${text}\n`))
        .join('');
    },
    async upload(...parts) {
      const form = new FormData();
      for (const [name, content] of parts) {
        if (name === 'field') form.append('metadata', String(content));
        else form.append(name, typeof content === 'string' ? new Blob([content]) : content, name);
      }
      const headers = { 'open-sandbox-api-key': API_KEY };
      return readAnswer(
        await fetch(`${client.url}${base}/files/upload`, { method: 'POST', body: form, headers }),
      );
    },
    async put(path, content, more = {}) {
      const { status, text } = await execd.upload(
        ['metadata', JSON.stringify({ path, ...more })],
        ['file', content],
      );
      if (status !== 200) throw new Error(`upload: ${status} ${text}`);
    },
  };
  return execd;
}

/** Each is a line of JSON and an empty line. */
export function eventsOf(text: string): CommandEvent[] {
  return text
    .split('\n\n')
    .filter((each) => each !== '')
    .map((each) => JSON.parse(each));
}

/** Every back end that this machine allows. */
export async function workingBackends(): Promise<BackendName[]> {
  const works = async (backend: BackendName) => {
    const folder = temporaryFolder();
    try {
      await detectBackend(folder, backend);
      return [backend];
    } catch {
      return [];
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
  return (await Promise.all((['bwrap', 'unshare', 'plain'] as const).map(works))).flat();
}
