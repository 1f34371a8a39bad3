/** Resolves references to secrets where they are used. A value never leaves by an error. */

import { readFile } from 'node:fs/promises';

export interface SecretSource {
  /** @throws SecretNotFoundError */
  resolve(reference: string): Promise<string>;
}

/** The reference names nothing on this worker. */
export class SecretNotFoundError extends Error {
  override readonly name = 'SecretNotFoundError';

  constructor(reference: string, why: string) {
    super(`The secret ${reference} cannot be had on this worker: ${why}.`);
  }
}

/** References are `env:NAME` and `file:/path`. @param env the worker's environment. */
export function secretsFrom(env: Readonly<Record<string, string | undefined>>): SecretSource {
  return {
    async resolve(reference) {
      if (reference.startsWith('env:')) {
        const value = env[reference.slice('env:'.length)];
        if (value === undefined || value === '')
          throw new SecretNotFoundError(reference, 'the variable is not set');
        return value;
      }
      try {
        // Files of secrets usually end with a line end that is not part of them.
        const value = (await readFile(reference.slice('file:'.length), 'utf8')).replace(/\r?\n$/, '');
        if (value === '') throw new SecretNotFoundError(reference, 'the file is empty');
        return value;
      } catch (error) {
        if (error instanceof SecretNotFoundError) throw error;
        throw new SecretNotFoundError(reference, `the file cannot be read (${codeOf(error)})`);
      }
    },
  };
}

function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException).code ?? 'unknown');
}
