/** Commands that set items going: `batch submit`, `batch run`, `batch retry`. */

import { type Command, Option } from 'commander';
import { examples, jsonOption } from '../command-parts.js';
import type { CliContext } from '../context.js';
import { followBatch } from './follow.js';

interface StartOptions {
  readonly id?: string;
  readonly json?: boolean;
}

export function addBatchStartCommands(batch: Command, context: CliContext): void {
  startCommand('submit', 'check every item, start the batch and print its ID')
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples('longhaul batch submit batch.yaml', 'longhaul batch submit batch.yaml --id nightly'),
    )
    .action((file: string, options: StartOptions) =>
      context.withLonghaul(async ({ batches }) => {
        const { id } = await batches.submit(file, given(options));
        if (options.json) context.printJson({ id });
        else context.print(id);
      }),
    );

  startCommand('run', 'start a batch and watch it to its end; Ctrl-C detaches, the batch goes on')
    .addOption(jsonOption('lines'))
    .addHelpText('after', examples('longhaul batch run batch.yaml', 'longhaul batch run batch.yaml --json'))
    .action((file: string, options: StartOptions) =>
      context.withLonghaul(async ({ batches }) => {
        const started = await batches.submit(file, given(options));
        if (!options.json) context.note(`Submitted ${started.id}.`);
        await followBatch(started, context, options.json ?? false);
      }),
    );

  batch
    .command('retry')
    .description('new attempts at items of a batch that has ended; the old outcomes are kept')
    .argument('<id>', "the batch's ID")
    .addOption(new Option('--failed', 'at those whose last attempt failed (default)').conflicts('unfinished'))
    .option('--unfinished', 'at all that are not completed: failed, cancelled and never started ones')
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples('longhaul batch retry nightly --failed', 'longhaul batch retry nightly --unfinished'),
    )
    .action((id: string, { unfinished, json }: { unfinished?: boolean; json?: boolean }) =>
      context.withLonghaul(async ({ batches }) => {
        const items = await batches.retry(id, unfinished ? 'unfinished' : 'failed');
        if (json) context.printJson({ id, items });
        else if (items === 0) context.print(`${id} has no ${unfinished ? 'unfinished' : 'failed'} items.`);
        else context.print(`Trying again, ${items} of ${id}: longhaul batch watch ${id}`);
      }),
    );

  function startCommand(name: string, description: string): Command {
    return batch
      .command(name)
      .description(description)
      .argument('<batch>', 'YAML or JSON file with a job template and items')
      .option('--id <id>', "the batch's ID, instead of the file's");
  }
}

function given({ id }: StartOptions): { id?: string } {
  return id === undefined ? {} : { id };
}
