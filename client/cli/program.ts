/** The command line as a whole. */

import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { addBatchCommands } from './batch/index.js';
import type { CliContext } from './context.js';
import { EXIT_CODES_HELP } from './exit-codes.js';
import { addHistoryCommands } from './history.js';
import { addInsideCommands } from './inside.js';
import { addJanitorCommand } from './janitor.js';
import { addLookCommands } from './look.js';
import { addProcessCommands } from './processes.js';
import { addRecoverCommands } from './recover.js';
import { addSettingCommands } from './settings.js';
import { addStartCommands } from './start.js';
import { addSteerCommands } from './steer.js';
import { addWindowsCommands } from './windows.js';

const ENVIRONMENT_HELP = `Which Temporal service is used: TEMPORAL_ADDRESS and the other TEMPORAL_* variables, else the
profile of Temporal's own configuration file, else the \`longhaul dev\` that runs on this machine.`;

/** @returns a program that throws CommanderError instead of ending the process. */
export function createProgram(context: CliContext): Command {
  const program = new Command('longhaul')
    .description('Takes agents in sandboxes to their end, for hours or days.')
    .version(packageVersion())
    .exitOverride()
    // Errors are reported in one place, with those of the commands.
    .configureOutput({ outputError: () => {} })
    .addHelpText('after', `\n${ENVIRONMENT_HELP}\n\n${EXIT_CODES_HELP}`);
  addProcessCommands(program, context);
  addStartCommands(program, context);
  addLookCommands(program, context);
  addHistoryCommands(program, context);
  addSteerCommands(program, context);
  addSettingCommands(program, context);
  addRecoverCommands(program, context);
  addInsideCommands(program, context);
  addBatchCommands(program, context);
  addJanitorCommand(program, context);
  addWindowsCommands(program, context);
  return program;
}

/** The package is found from the sources as well as from the build. */
function packageVersion(): string {
  for (const place of ['../../package.json', '../../../package.json']) {
    try {
      const { name, version } = JSON.parse(readFileSync(new URL(place, import.meta.url), 'utf8'));
      if (name === 'longhaul') return String(version);
    } catch {
      // Try the next place.
    }
  }
  return 'unknown';
}
