/** The job of the demo: the example image-audit, at a pace that leaves time to disturb it. */

import { readFile } from 'node:fs/promises';
import type { JobSpecSource } from '../../../contract/job-spec.schema.js';

const EXAMPLE = new URL('../../../../examples/image-audit/', import.meta.url);

/** Thousands of real files that every Linux has; below them the libraries lie one folder deep. */
const ROOTS = ['/usr/bin', '/usr/sbin', '/usr/libexec', '/usr/share/doc'];
const DEPTH = 1;

/** The part of the agent's result that is shown and checked. */
export interface AuditResult {
  readonly totals: Readonly<
    Record<'files' | 'bytes' | 'elf' | 'scripts' | 'links' | 'unreadable' | 'vanished', number>
  >;
  readonly runs: number;
  readonly filesDigest: string;
  readonly setuid: readonly string[];
  readonly largest: readonly { readonly path: string; readonly size: number }[];
  readonly duplicates: { readonly wastedBytes: number };
}

interface Verifier {
  independentWalk(options: {
    roots: readonly string[];
    depth: number;
  }): Promise<{ totals: { files: number } }>;
  expectedFilesDigest(walk: unknown, options: { publicOnly: boolean }): string;
}

export async function auditJob(): Promise<{ spec: JobSpecSource; roots: readonly string[]; depth: number }> {
  const spec: JobSpecSource = {
    id: 'image-audit',
    sandbox: {
      image: 'node:20-slim',
      entrypoint: ['node', '/workspace/agent.mjs'],
      env: { ROOTS: ROOTS.join(':'), DEPTH: `${DEPTH}`, GROUP_FILES: '40', PACE_MS: '120' },
      files: [
        { path: '/workspace/agent.mjs', content: await readFile(new URL('agent.mjs', EXAMPLE), 'utf8') },
      ],
    },
    checkpoint: { every: '250ms', stallAfter: '1m' },
  };
  return { spec, roots: ROOTS, depth: DEPTH };
}

/** @returns `null` when each file was counted exactly once, else what is wrong. */
export async function verifyAudit(
  result: AuditResult,
  roots: readonly string[],
  depth: number,
): Promise<string | null> {
  const { independentWalk, expectedFilesDigest } = (await import(
    new URL('verify.mjs', EXAMPLE).href
  )) as Verifier;
  const walk = await independentWalk({ roots, depth });
  const expected = expectedFilesDigest(walk, { publicOnly: result.totals.unreadable > 0 });
  if (result.filesDigest === expected) return null;
  return `The agent counted ${result.totals.files} files, the walk ${walk.totals.files}; their digests differ.`;
}
