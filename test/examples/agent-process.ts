/** The example agent as a real process outside of any sandbox, and what a test asks of it. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const AGENT_PATH = fileURLToPath(new URL('../../examples/image-audit/agent.mjs', import.meta.url));

const DEADLINE_MS = 50_000;

/** The fields of a checkpoint that the tests look at. */
export interface AgentState {
  readonly status: string;
  readonly step: number;
  readonly incarnation: number;
  readonly progress?: number;
  readonly message?: string;
  readonly error?: { readonly message: string };
  readonly result?: {
    readonly totals: Readonly<Record<string, number>>;
    readonly runs: number;
    readonly reportDigest: string;
    readonly setuid: readonly string[];
    readonly duplicates: { readonly groups: number; readonly wastedBytes: number };
    readonly interpreters: Readonly<Record<string, number>>;
  };
}

export interface AgentOptions {
  readonly workspace: string;
  /** Folders to audit, joined by colons. */
  readonly roots: string;
  readonly env?: Readonly<Record<string, string>>;
  /** User and group to run as; needs root. */
  readonly uid?: number;
}

/** Processes that a test may have left behind, for `stopAgents`. */
const started = new Set<ChildProcess>();

/** Starts the agent and returns at once: it may not listen yet. */
export function spawnAgent({ workspace, roots, env, uid }: AgentOptions): ChildProcess {
  const child = spawn(process.execPath, [AGENT_PATH], {
    env: { PORT: '0', WORKSPACE: workspace, ROOTS: roots, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  started.add(child);
  child.once('exit', () => started.delete(child));
  return child;
}

/** Starts the agent and waits until it listens. */
export async function startAgent(options: AgentOptions): Promise<{ child: ChildProcess; url: string }> {
  const child = spawnAgent(options);
  if (child.stdout === null) throw new Error('the agent has no standard output');
  for await (const line of createInterface({ input: child.stdout })) {
    const port = /port (\d+)$/.exec(line)?.[1];
    if (port !== undefined) return { child, url: `http://127.0.0.1:${port}` };
  }
  throw new Error('the agent ended before it listened');
}

/** Ends one agent. @returns its exit code; `null` if the signal ended it. */
export async function stopAgent(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exit = once(child, 'exit');
  child.kill(signal);
  const [code] = await exit;
  return code as number | null;
}

export async function stopAgents(): Promise<void> {
  await Promise.all([...started].map((child) => stopAgent(child, 'SIGKILL')));
}

/** The published checkpoint; `undefined` while there is none. */
export async function readState(url: string): Promise<AgentState | undefined> {
  const response = await fetch(`${url}/state.json`);
  const text = await response.text();
  return response.status === 404 ? undefined : (JSON.parse(text) as AgentState);
}

/** Polls until the checkpoint is as wanted. A `failed` that is not wanted ends the wait. */
export async function waitForState(
  url: string,
  isWanted: (state: AgentState) => boolean,
): Promise<AgentState> {
  const deadline = Date.now() + DEADLINE_MS;
  let state: AgentState | undefined;
  while (Date.now() < deadline) {
    state = await readState(url);
    if (state !== undefined && isWanted(state)) return state;
    if (state?.status === 'failed') break;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`the wanted checkpoint did not come; the last one is ${JSON.stringify(state)}`);
}

export const isDone = (state: AgentState): boolean => state.status === 'done';
