/** Runs a program to its end. */

import { execFile } from 'node:child_process';

/**
 * @returns its standard output.
 * @throws with the last line that it wrote to standard error.
 */
export function run(program: string, args: readonly string[], env?: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { env: env ?? process.env, maxBuffer: 64 * 2 ** 20 }, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      const why = stderr.trim().split('\n').at(-1) || error.message;
      reject(
        new Error((error as NodeJS.ErrnoException).code === 'ENOENT' ? `${program} is not installed` : why),
      );
    });
  });
}
