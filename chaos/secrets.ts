/** Looks for a secret where none may be: histories with their payloads decoded, logs and the store. */

import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';

/** A larger file is none of those that could hold a log line or a payload. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** @returns in words where the secret was found. */
export async function findSecret(
  secret: string,
  address: string,
  folders: readonly string[],
): Promise<string[]> {
  const found: string[] = [];
  const connection = await Connection.connect({ address });
  try {
    const { workflow } = new Client({ connection });
    for await (const { workflowId, runId } of workflow.list()) {
      const history = await workflow.getHandle(workflowId, runId).fetchHistory();
      if (textOf(history).includes(secret)) found.push(`the history of ${workflowId}`);
    }
  } finally {
    await connection.close();
  }
  for (const folder of folders) {
    for (const path of await filesBelow(folder)) {
      if ((await readFile(path)).includes(secret)) found.push(path);
    }
  }
  return found;
}

/** Everything in it as text; payloads are bytes. */
function textOf(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (Array.isArray(value)) return value.map(textOf).join('\n');
  if (typeof value === 'object' && value !== null) return Object.values(value).map(textOf).join('\n');
  return typeof value === 'string' ? value : '';
}

async function filesBelow(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true }).catch(() => [] as string[]);
  const found = await Promise.all(
    names.map(async (name) => {
      const entry = await stat(join(folder, name)).catch(() => null);
      return entry?.isFile() && entry.size <= MAX_FILE_BYTES ? [join(folder, name)] : [];
    }),
  );
  return found.flat();
}
