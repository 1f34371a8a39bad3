/** A tree to audit and a workspace, anew for each test, and the verifier of the example. */

import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { type AgentState, isDone, startAgent, stopAgent, stopAgents, waitForState } from './agent-process.js';

export interface ReportedFile {
  path: string;
  size: number;
  sha256: string;
  interpreter?: string;
  elf?: { kind: string; bits: number; machine: string };
}

export interface Report {
  totals: Record<string, number>;
  files: ReportedFile[];
  unreadable: { path: string; unreadable: string }[];
  vanished: string[];
}

interface Verifier {
  independentWalk(options: { roots: string[]; depth?: number; exclude?: string[] }): Promise<{
    totals: Record<string, number>;
    files: Map<string, { size: number; sha256: string | null }>;
  }>;
  compareReport(report: Report, walk: unknown): string[];
}

const VERIFIER_URL = new URL('../../examples/image-audit/verify.mjs', import.meta.url).href;
export const { independentWalk, compareReport } = (await import(VERIFIER_URL)) as Verifier;

/** The folders of the test that runs. */
export let folder: string;
export let tree: string;
export let workspace: string;

/** To be called once per test file. */
export function useWorkspace(): void {
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'image-audit-'));
    tree = join(folder, 'tree');
    workspace = join(folder, 'workspace');
    await mkdir(tree);
    await mkdir(workspace);
  });

  afterEach(async () => {
    await stopAgents();
    await rm(folder, { recursive: true, force: true });
  });
}

export async function readReport(): Promise<Report> {
  return JSON.parse(await readFile(join(workspace, 'report.json'), 'utf8')) as Report;
}

export async function auditToTheEnd(env: Record<string, string> = {}): Promise<AgentState> {
  const { child, url } = await startAgent({ workspace, roots: tree, env });
  const state = await waitForState(url, isDone);
  await stopAgent(child, 'SIGTERM');
  return state;
}

export const stepOnDisk = async (): Promise<number> =>
  (JSON.parse(await readFile(join(workspace, 'state.json'), 'utf8')) as AgentState).step;
