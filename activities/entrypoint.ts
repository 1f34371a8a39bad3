/** Carries the files of a spec into the sandbox, inside its entrypoint: the one channel that every deployment has. */

import type { SandboxSpec } from '../contract/job-spec.js';

/**
 * Writes each file unless it exists, so that a resumed agent keeps what it changed; by rename, so that a
 * process killed on the way leaves no half of one. Then it becomes the real entrypoint. POSIX shell only.
 */
const WRITE_FILES_THEN_EXEC = [
  'while [ "$1" != "--" ]; do',
  '  if [ ! -e "$1" ]; then',
  '    mkdir -p "$(dirname "$1")" && printf %s "$2" > "$1.part" && mv "$1.part" "$1" || exit 1',
  '  fi',
  '  shift 2',
  'done',
  'shift',
  'exec "$@"',
].join('\n');

export function entrypointOf(sandbox: SandboxSpec): readonly string[] {
  if (sandbox.files.length === 0) return sandbox.entrypoint;
  const files = sandbox.files.flatMap((file) => [file.path, file.content]);
  return ['/bin/sh', '-c', WRITE_FILES_THEN_EXEC, 'longhaul', ...files, '--', ...sandbox.entrypoint];
}
