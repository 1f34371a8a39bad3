/** Reads what a sandbox logged, straight from the sandbox API: logs are too large to go through Temporal. */

import { request } from 'undici';
import type { Environment } from './dev-session.js';
import { LonghaulError } from './errors.js';

const TIMEOUT_MS = 15_000;
const MAX_BYTES = 8 * 1024 * 1024;

/**
 * The last lines of the sandbox's container log; `null` when the API has none, e.g. since the sandbox is paused
 * or deleted.
 * @param env names the API by `OPEN_SANDBOX_API_URL` and `OPEN_SANDBOX_API_KEY`.
 * @throws LonghaulError SANDBOX_API_UNREACHABLE, API_KEY_REJECTED.
 */
export async function readSandboxLogs(
  env: Environment,
  sandboxId: string,
  tailLines: number,
): Promise<string | null> {
  const { OPEN_SANDBOX_API_URL: apiUrl, OPEN_SANDBOX_API_KEY: apiKey } = env;
  if (!apiUrl || !apiKey) {
    throw new LonghaulError('SANDBOX_API_UNREACHABLE', 'The sandbox API is not known here.', {
      remedy: 'set OPEN_SANDBOX_API_URL and OPEN_SANDBOX_API_KEY to what the worker has',
    });
  }
  const path = `/sandboxes/${encodeURIComponent(sandboxId)}/diagnostics/logs?scope=container&tail=${tailLines}`;
  const { status, text } = await get(`${apiUrl.replace(/\/+$/, '')}${path}`, apiKey);
  if (status === 404) return null;
  if (status === 401 || status === 403) {
    throw new LonghaulError('API_KEY_REJECTED', 'The sandbox API refused the API key.', {
      remedy: 'set OPEN_SANDBOX_API_KEY to what the worker has',
    });
  }
  if (status !== 200) {
    throw new LonghaulError(
      'SANDBOX_API_UNREACHABLE',
      `The sandbox API has no logs to give (HTTP ${status}).`,
    );
  }
  // Not every server knows `tail`.
  return lastLines(contentOf(text), tailLines);
}

async function get(url: string, apiKey: string): Promise<{ readonly status: number; readonly text: string }> {
  try {
    const { statusCode, body } = await request(url, {
      headers: { 'open-sandbox-api-key': apiKey, accept: 'application/json, text/plain' },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const chunks: Buffer[] = [];
    let sizeBytes = 0;
    for await (const chunk of body) {
      sizeBytes += (chunk as Buffer).byteLength;
      if (sizeBytes > MAX_BYTES) throw new Error(`the logs are larger than ${MAX_BYTES / 2 ** 20} MiB`);
      chunks.push(chunk as Buffer);
    }
    return { status: statusCode, text: Buffer.concat(chunks).toString('utf8') };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = typeof code === 'string' ? code : message;
    throw new LonghaulError(
      'SANDBOX_API_UNREACHABLE',
      `The sandbox API at ${new URL(url).origin} did not answer (${why}).`,
      {
        remedy: 'check OPEN_SANDBOX_API_URL, and that the API runs',
        cause: error,
      },
    );
  }
}

/** Servers answer with plain text or with JSON that carries it, whatever was asked for. */
function contentOf(body: string): string {
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed === 'object' && parsed !== null && 'content' in parsed) return String(parsed.content);
  } catch {
    // Plain text.
  }
  return body;
}

function lastLines(text: string, count: number): string {
  const lines = text.replace(/\n$/, '').split('\n');
  return lines.slice(-count).join('\n');
}
