/** A sandbox server in this process, a client for it, and an agent that does what tests ask for. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  type SandboxServer,
  type SandboxServerOptions,
  startSandboxServer,
} from '../../local/sandbox-server/index.js';

export const API_KEY = 'test-key';
const MAIN = fileURLToPath(new URL('../../dist/local/sandbox-server/main.js', import.meta.url));

/** Counts its starts in /workspace/starts, notes SIGTERM in /workspace/stopped, and serves on port 8000. */
export const AGENT = `
const { createServer } = require('node:http');
const fs = require('node:fs');
const folder = process.env.WORKSPACE ?? '/workspace';
const file = (name) => folder + '/' + name;
const starts = fs.existsSync(file('starts')) ? Number(fs.readFileSync(file('starts'))) + 1 : 1;
fs.writeFileSync(file('starts'), String(starts));
console.log('agent start ' + starts);
process.on('unhandledRejection', () => undefined);
process.on('SIGTERM', () => { fs.writeFileSync(file('stopped'), String(starts)); process.exit(0); });
const server = createServer(async (request, response) => {
  const path = request.url.split('?')[0];
  const json = (body) => response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  if (path === '/state.json') return json({ starts, pid: process.pid });
  if (path.startsWith('/echo')) {
    let body = '';
    for await (const chunk of request) body += chunk;
    return json({ method: request.method, url: request.url, headers: request.headers, body });
  }
  if (path === '/files') return json(fs.readdirSync(folder));
  if (path === '/env') return json(process.env);
  if (path === '/drop') return request.socket.destroy();
  if (path === '/garbage') return request.socket.end('this is not HTTP\\r\\n\\r\\n');
  if (path === '/cut') { response.writeHead(200, { 'content-length': '1000' }); response.write('ten bytes.'); return setTimeout(() => request.socket.destroy(), 20); }
  if (path === '/redirect') return response.writeHead(302, { location: '/elsewhere', 'set-cookie': ['a=1', 'b=2'] }).end();
  if (path === '/events') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: first\\n\\n');
    return request.once('data', () => response.end('data: second\\n\\n'));
  }
  if (path === '/size') { let size = 0; for await (const chunk of request) size += chunk.length; return json({ size }); }
  if (path === '/big') { const block = Buffer.alloc(2 ** 20, 'x'); let left = 32; const more = () => { while (left-- > 0) if (!response.write(block)) return response.once('drain', more); response.end(); }; return more(); }
  if (path === '/exit') { json({}); return setTimeout(() => process.exit(Number(request.url.split('=')[1])), 10); }
  if (path === '/missing.txt') return response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>404</h1>');
  response.writeHead(418).end();
});
server.on('upgrade', (request, socket) => {
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nupgrade: echo\\r\\nconnection: upgrade\\r\\n\\r\\n');
  socket.pipe(socket);
});
server.listen(8000);
`;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Parsed, or `undefined` when it is no JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly json: any;
}

export interface Client {
  readonly url: string;
  readonly gatewayUrl: string;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Creates a sandbox and returns its ID. */
  create(spec?: Record<string, unknown>): Promise<string>;
  /** Creates one with this shell script and waits until it has ended. @returns what it wrote. */
  run(script: string, spec?: Record<string, unknown>): Promise<string>;
  state(id: string): Promise<string>;
  untilState(id: string, state: string): Promise<void>;
  /** Waits until the agent answers. @returns its state. */
  untilReady(id: string): Promise<{ starts: number; pid: number }>;
}

export function createSpec(spec: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    image: { uri: 'node:20-slim' },
    entrypoint: ['node', '-e', AGENT],
    resourceLimits: {},
    extensions: { persistence: 'true' },
    ...spec,
  };
}

export function clientOf({ url, gatewayUrl }: { url: string; gatewayUrl: string }): Client {
  const client: Client = {
    url,
    gatewayUrl,
    async call(method, path, body, headers = {}) {
      const response = await fetch(url + path, {
        method,
        redirect: 'manual',
        headers: { 'open-sandbox-api-key': API_KEY, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      return readAnswer(response);
    },
    async create(spec) {
      const answer = await client.call('POST', '/sandboxes', createSpec(spec));
      if (answer.status !== 202) throw new Error(`create: ${answer.status} ${answer.text}`);
      return answer.json.id;
    },
    async run(script, spec) {
      const id = await client.create({ entrypoint: ['/bin/sh', '-c', script], ...spec });
      await until(async () => ['Terminated', 'Failed'].includes(await client.state(id)), 'its end');
      const { text } = await client.call('GET', `/sandboxes/${id}/diagnostics/logs`);
      await client.call('DELETE', `/sandboxes/${id}`);
      return text;
    },
    async state(id) {
      const { status, json } = await client.call('GET', `/sandboxes/${id}`);
      return status === 200 ? json.status.state : `${status}`;
    },
    async untilState(id, state) {
      await until(async () => (await client.state(id)) === state, state);
    },
    async untilReady(id) {
      const path = `/sandboxes/${id}/proxy/8000/state.json`;
      await until(async () => (await client.call('GET', path)).status === 200, 'the agent');
      return (await client.call('GET', path)).json;
    },
  };
  return client;
}

export async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {}
  return { status: response.status, headers: response.headers, text, json };
}

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'sandbox-server-test-'));
}

export interface TestServer extends Client {
  readonly server: SandboxServer;
  readonly dataDir: string;
  /** Deletes everything. */
  end(): Promise<void>;
}

export async function startTestServer(options: Partial<SandboxServerOptions> = {}): Promise<TestServer> {
  const dataDir = temporaryFolder();
  const server = await startSandboxServer({ dataDir, port: 0, apiKey: API_KEY, ...options });
  return {
    ...clientOf(server),
    server,
    dataDir,
    async end() {
      await server.close({ deleteAll: true });
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** A server in a process of its own, which can be killed. */
export async function spawnServer(
  dataDir: string,
  input: 'ignore' | 'pipe' = 'ignore',
  more: readonly string[] = [],
): Promise<{ client: Client; child: ChildProcess }> {
  if (!existsSync(MAIN)) throw new Error(`${MAIN} is missing: npm run build`);
  const child = spawn(process.execPath, [MAIN, '--data', dataDir, ...more], {
    env: { PATH: process.env.PATH, OPEN_SANDBOX_API_KEY: API_KEY },
    stdio: [input, 'pipe', 'pipe'],
  });
  let said = '';
  child.stderr?.on('data', (chunk) => {
    said = (said + chunk).slice(-2000);
  });
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout! }).once('line', resolve);
    child.once('exit', (code) =>
      reject(new Error(`The server ended with ${code} before it listened: ${said}`)),
    );
  });
  return { client: clientOf(JSON.parse(line)), child };
}

export async function endProcess(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}

export async function until(condition: () => Promise<boolean> | boolean, what: string): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`Waited too long for ${what}.`);
    await sleep(10);
  }
}

/** Host processes, zombies aside, in whose command line this text occurs. */
export function processesMentioning(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
      } catch {
        return false;
      }
    });
}

/** Control group folders of these sandboxes. */
export function controlGroupsOf(ids: readonly string[]): string[] {
  const candidates = ['', 'memory/', 'cpu/', 'pids/', 'freezer/'].flatMap((part) =>
    ids.map((id) => `/sys/fs/cgroup/${part}longhaul/${id}`),
  );
  return candidates.filter((folder) => existsSync(folder));
}
