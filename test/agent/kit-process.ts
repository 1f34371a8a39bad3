/** Agents made with the kits, as real processes, and what a test asks of them over HTTP. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach } from 'vitest';

const DEADLINE_MS = 40_000;
const pathOf = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

export interface Kit {
  readonly name: string;
  /** Starts the kit's own file, for its command line. */
  readonly commandLine: readonly string[];
  /** Starts the scenarios. */
  readonly scenarios: readonly string[];
}

export const KITS: readonly Kit[] = [
  {
    name: 'node',
    commandLine: [process.execPath, pathOf('../../agent/node/longhaul-agent.mjs')],
    scenarios: [process.execPath, pathOf('fixtures/scenarios.mjs')],
  },
  {
    name: 'python',
    commandLine: ['python3', '-B', pathOf('../../agent/python/longhaul_agent.py')],
    scenarios: ['python3', '-B', pathOf('fixtures/scenarios.py')],
  },
];

export interface AgentState {
  readonly status: string;
  readonly step?: number;
  readonly progress?: number;
  readonly message?: string;
  readonly updatedAt: string;
  readonly wakeAt?: string;
  readonly question?: { readonly id: string; readonly text: string; readonly schema?: unknown };
  readonly result?: unknown;
  readonly error?: { readonly message: string };
  readonly incarnation: number;
  readonly inputId?: string;
}

/** The workspace of the test that runs. */
export let workspace: string;
const running = new Set<ChildProcess>();

/** To be called once per test file. */
export function useWorkspace(): void {
  beforeEach(async () => {
    workspace = await mkdtemp(join(tmpdir(), 'longhaul-kit-'));
  });
  afterEach(async () => {
    await Promise.all([...running].map((child) => endProcess(child, 'SIGKILL')));
    await rm(workspace, { recursive: true, force: true });
  });
}

export interface StartedAgent {
  readonly child: ChildProcess;
  readonly url: string;
}

/** Starts a command and returns at once: it may not listen yet. */
export function spawnAgent(
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
): ChildProcess {
  const [program, ...args] = command as [string, ...string[]];
  const child = spawn(program, args, {
    env: { PATH: process.env.PATH, LONGHAUL_PORT: '0', LONGHAUL_WORKSPACE: workspace, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  child.stdout.resume();
  return child;
}

/** Starts a command and waits until it serves its checkpoint. */
export async function startAgent(
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<StartedAgent> {
  const child = spawnAgent(command, env);
  if (child.stderr === null) throw new Error('the agent has no standard error');
  const said: string[] = [];
  const url = await new Promise<string>((resolve, reject) => {
    const lines = createInterface({ input: child.stderr as NodeJS.ReadableStream });
    // Read to the end, or the agent may stop at a full pipe.
    lines.on('line', (line) => {
      said.push(line);
      const port = /^longhaul-agent: start \d+, http:\/\/0\.0\.0\.0:(\d+)\//.exec(line)?.[1];
      if (port !== undefined) resolve(`http://127.0.0.1:${port}`);
    });
    lines.once('close', () => reject(new Error(`the agent ended before it served: ${said.join('\n')}`)));
  });
  return { child, url };
}

/** Ends one process. @returns its exit code; `null` if the signal ended it. */
export async function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exit = once(child, 'exit');
  child.kill(signal);
  const [code] = await exit;
  return code as number | null;
}

export async function readState(url: string): Promise<AgentState> {
  return (await (await fetch(`${url}/state.json`)).json()) as AgentState;
}

/** Polls until the checkpoint is as wanted. */
export async function waitForState(
  url: string,
  isWanted: (state: AgentState) => boolean,
): Promise<AgentState> {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const state = await readState(url);
    if (isWanted(state)) return state;
    if (Date.now() > deadline) {
      throw new Error(`the wanted checkpoint did not come; the last one is ${JSON.stringify(state)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export const hasStatus =
  (status: string) =>
  (state: AgentState): boolean =>
    state.status === status;

export async function post(
  url: string,
  path: string,
  body: unknown = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number; state: AgentState }> {
  const response = await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body), headers });
  const text = await response.text();
  return { status: response.status, state: (text === '' ? {} : JSON.parse(text)) as AgentState };
}

/** The lines that a scenario noted in the workspace. */
export async function readNotes(): Promise<string[]> {
  const text = await readFile(join(workspace, 'notes'), 'utf8').catch(() => '');
  return text.split('\n').filter(Boolean);
}

/** What the kit has on disk. */
export async function readSaved(): Promise<{
  checkpoint: AgentState;
  state: { n: number; filler: string } | null;
  inputs: { id: string; question: string | null; value: unknown }[];
}> {
  return JSON.parse(await readFile(join(workspace, '.longhaul/agent.json'), 'utf8'));
}
