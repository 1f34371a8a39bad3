/** Errors as people and scripts read them. Pure. */

import { CommanderError } from 'commander';
import { ERROR_CODES, type ErrorCode } from '../../contract/errors.js';
import { LonghaulError } from '../errors.js';
import { EXIT, type ExitCode, exitCodeOf } from './exit-codes.js';
import { printable } from './render/text.js';

/** What only a command line can get wrong or run out of, with the exit codes of it. */
const CLI_CODES = {
  CONFIG_INVALID: EXIT.USAGE,
  NOT_IN_TIME: EXIT.UNREACHABLE,
  NO_LOGS: EXIT.NOT_FOUND,
  NO_INPUT: EXIT.NOT_FOUND,
  NO_FILE: EXIT.NOT_FOUND,
  NOT_RUNNING: EXIT.NOT_FOUND,
  REFUSED_INSIDE: EXIT.JOB_FAILED,
} as const;

export class CliError extends Error {
  override readonly name = 'CliError';
  readonly code: keyof typeof CLI_CODES;

  constructor(code: CliError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

export interface ErrorReport {
  readonly exitCode: ExitCode;
  /** For standard error. */
  readonly text: string;
  /** For `--json`. */
  readonly document: {
    readonly error: {
      readonly code: ErrorCode | CliError['code'] | 'USAGE';
      readonly message: string;
      readonly problems: readonly { readonly path: string; readonly message: string }[];
      readonly remedy: string | null;
    };
  };
}

/** @returns `null` where nothing went wrong: commander ends `--help` and `--version` by an exception. */
export function reportError(error: unknown): ErrorReport | null {
  if (error instanceof CommanderError) return error.exitCode === 0 ? null : usageReport(error);
  if (error instanceof CliError) {
    const { code, message } = error;
    return {
      exitCode: CLI_CODES[code],
      text: `error: ${printable(message)}`,
      document: { error: { code, message, problems: [], remedy: null } },
    };
  }
  const { code, message, problems, file, remedy } = toKnown(error);
  const lines = [
    `error: ${printable(message)}`,
    ...problems.map((problem) => {
      const place = [file, problem.path].filter((part) => part !== null && part !== '').join(': ');
      return `  ${place === '' ? '' : `${place}: `}${printable(problem.message)}`;
    }),
    ...(remedy === null ? [] : [`  ${remedy}`]),
  ];
  return {
    exitCode: exitCodeOf(code),
    text: lines.join('\n'),
    document: { error: { code, message, problems, remedy } },
  };
}

function usageReport({ code, message }: CommanderError): ErrorReport {
  // Without a command it shows its help, and that is all there is to say.
  const text = code === 'commander.help' ? '' : `${message}\n  see --help`;
  return {
    exitCode: EXIT.USAGE,
    text,
    document: {
      error: { code: 'USAGE', message: message.replace(/^error: /, ''), problems: [], remedy: null },
    },
  };
}

/** Errors of the lazily loaded parts carry a code of the same list, too. */
function toKnown(error: unknown): LonghaulError {
  if (error instanceof LonghaulError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const code = (error as { code?: unknown } | null)?.code;
  const known = typeof code === 'string' && code in ERROR_CODES ? (code as ErrorCode) : 'UNEXPECTED';
  return new LonghaulError(known, message, { cause: error });
}
