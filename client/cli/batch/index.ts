/** The group of commands `longhaul batch`. */

import type { Command } from 'commander';
import type { CliContext } from '../context.js';
import { addBatchLookCommands } from './look.js';
import { addBatchStartCommands } from './start.js';
import { addBatchSteerCommands } from './steer.js';

export function addBatchCommands(program: Command, context: CliContext): void {
  const batch = program.command('batch').description('one job template over many items');
  addBatchStartCommands(batch, context);
  addBatchLookCommands(batch, context);
  addBatchSteerCommands(batch, context);
}
