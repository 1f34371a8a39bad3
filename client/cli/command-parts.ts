/** What the commands have in common. */

import { InvalidArgumentError, Option } from 'commander';
import { parseDurationMs } from '../../contract/quantities.js';

export function jsonOption(form: 'document' | 'lines' = 'document'): Option {
  return new Option(
    '--json',
    form === 'lines' ? 'print one JSON document per line' : 'print one JSON document',
  );
}

export function examples(...commands: readonly string[]): string {
  return `\nExamples:\n${commands.map((command) => `  ${command}`).join('\n')}`;
}

/** @throws InvalidArgumentError */
export function durationArgument(text: string): number {
  const durationMs = parseDurationMs(text);
  if (durationMs === undefined || durationMs === 0) {
    throw new InvalidArgumentError('Write a duration such as 30s or 2m.');
  }
  return durationMs;
}

/** A time to come. @returns ISO 8601, UTC. @throws InvalidArgumentError */
export function futureArgument(text: string): string {
  const hasOffset = /T\d\d:\d\d.*(Z|[+-]\d\d:?\d\d)$/.test(text);
  const ms = hasOffset ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) {
    throw new InvalidArgumentError('Write a time with its offset, such as 2026-12-24T18:00:00+01:00 or …Z.');
  }
  if (ms <= Date.now()) throw new InvalidArgumentError('This time is over.');
  return new Date(ms).toISOString();
}

/** @throws InvalidArgumentError */
export function countArgument(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > 1_000_000) {
    throw new InvalidArgumentError('Write a whole number, at least 1.');
  }
  return count;
}
