/** Resolves references to secrets where they are used. A value never leaves by an error. */

import { open, realpath } from 'node:fs/promises';
import { parseSecretReference, type SecretReference } from '../contract/secrets.js';

export interface SecretSource {
  /**
   * @param reference `env:NAME`, `NAME` or `file:/path`, of this worker.
   * @throws SecretNotFoundError
   */
  resolve(reference: string): Promise<string>;
}

/** The reference names nothing on this worker, or nothing that may be handed out. */
export class SecretNotFoundError extends Error {
  override readonly name = 'SecretNotFoundError';

  constructor(reference: string, why: string) {
    super(`The secret ${reference} cannot be had on this worker: ${why}.`);
  }
}

/** Of keys and certificates; whatever is larger is no secret. */
const MAX_FILE_BYTES = 64 * 1024;

/**
 * Checks references again, since not every job comes through our client. Files are read anew each time: secrets
 * are rotated.
 * @param env the worker's environment.
 */
export function secretsFrom(env: Readonly<Record<string, string | undefined>>): SecretSource {
  return {
    async resolve(reference) {
      const place = placeOf(reference);
      const value = place.kind === 'env' ? variable(place.name) : await contentOf(place.path, reference);
      if (value !== undefined && value !== '') return value;
      const why = place.kind === 'env' ? 'the variable is not set' : 'the file is empty';
      throw new SecretNotFoundError(reference, why);
    },
  };

  function variable(name: string): string | undefined {
    return Object.hasOwn(env, name) ? env[name] : undefined;
  }
}

function placeOf(reference: string): SecretReference {
  const isName = /^[A-Za-z_][A-Za-z0-9_]*$/.test(reference);
  const parsed = parseSecretReference(isName ? `env:${reference}` : reference);
  if (parsed.ok) return parsed.reference;
  // Not repeated: what is no reference may be the secret itself.
  throw new SecretNotFoundError('that is asked for', `the reference ${parsed.why}`);
}

async function contentOf(path: string, reference: string): Promise<string> {
  const file = await open(await target(path, reference)).catch((error: NodeJS.ErrnoException) => {
    throw new SecretNotFoundError(reference, `the file cannot be read (${error.code})`);
  });
  try {
    const entry = await file.stat();
    if (!entry.isFile() || entry.size > MAX_FILE_BYTES)
      throw new SecretNotFoundError(reference, `it is no file of at most ${MAX_FILE_BYTES / 1024} KiB`);
    // Files of secrets usually end with a line end that is not part of them.
    return (await file.readFile('utf8')).replace(/\r?\n$/, '');
  } finally {
    await file.close();
  }
}

/** Where links lead must be allowed, too. */
async function target(path: string, reference: string): Promise<string> {
  const real = await realpath(path).catch((error: NodeJS.ErrnoException) => {
    throw new SecretNotFoundError(reference, `the file cannot be read (${error.code})`);
  });
  if (!parseSecretReference(`file:${real}`).ok)
    throw new SecretNotFoundError(reference, 'it links to a folder that cannot be handed out');
  return real;
}
