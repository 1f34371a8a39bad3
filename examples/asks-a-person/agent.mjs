/**
 * Surveys the files of an image by their kind, asks a person which kind to look into, and goes on with the answer.
 * While it waits its sandbox may be paused for days; the question and the answer outlive its process.
 */

import { lstat, readdir } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { startAgent } from './longhaul-agent.mjs';

const ROOT = process.env.ROOT || '/usr';

/** Every regular file, as [path, size in bytes]. Links are not followed. */
async function* filesBelow(folder) {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    if (entry.isFile()) yield [path, (await lstat(path)).size];
  }
}

/** The kinds that take the most space, the largest first. */
async function survey() {
  const bytesOf = new Map();
  for await (const [path, size] of filesBelow(ROOT)) {
    const kind = extname(path);
    if (kind !== '') bytesOf.set(kind, (bytesOf.get(kind) ?? 0) + size);
  }
  const kinds = [...bytesOf].sort((a, b) => b[1] - a[1]).slice(0, 8);
  if (kinds.length === 0) throw new Error(`there are no files with an extension below ROOT=${ROOT}`);
  return kinds.map(([kind, bytes]) => ({ kind, bytes }));
}

async function largestOf(kind, count) {
  const files = [];
  for await (const [path, size] of filesBelow(ROOT)) if (extname(path) === kind) files.push({ path, size });
  return files.sort((a, b) => b.size - a.size).slice(0, count);
}

const agent = await startAgent();
// Kept, so that the question is the same one after a restart.
let kinds = agent.restore();
if (kinds === null) {
  await agent.checkpoint({ step: 0, progress: 0, message: `surveying ${ROOT}` });
  kinds = await survey();
  const message = `most space: ${kinds.map(({ kind }) => kind).join(' ')}`;
  await agent.checkpoint({ step: 1, progress: 0.5, message, state: kinds });
}

const answer = await agent.ask({
  id: 'which-kind',
  text: 'Which kind of file shall I look into, and how many of the largest shall I list?',
  schema: {
    type: 'object',
    properties: {
      kind: { type: 'string', enum: kinds.map(({ kind }) => kind) },
      count: { type: 'integer', minimum: 1, maximum: 20, default: 5 },
    },
    required: ['kind'],
    additionalProperties: false,
  },
});

const { kind, count = 5 } = answer;
await agent.checkpoint({ step: 2, progress: 0.75, message: `looking for the largest ${kind} files` });
await agent.done({ kinds, kind, largest: await largestOf(kind, count), starts: agent.incarnation });
