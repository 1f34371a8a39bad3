/** Commands that only look: `batch status`, `batch ls`, `batch watch`, `batch results`. */

import { once } from 'node:events';
import { type Command, Option } from 'commander';
import { countArgument, examples, jsonOption } from '../command-parts.js';
import type { CliContext } from '../context.js';
import { followBatch } from './follow.js';
import { renderBatch, renderBatchList, renderDetails } from './render.js';

export function addBatchLookCommands(batch: Command, context: CliContext): void {
  batch
    .command('status')
    .description('progress, rate and failures by cause')
    .argument('<id>', "the batch's ID")
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples('longhaul batch status nightly', 'longhaul batch status nightly --json | jq .items'),
    )
    .action((id: string, { json }: { json?: boolean }) =>
      context.withLonghaul(async ({ batches }) => {
        const status = await batches.get(id).status();
        if (json) context.printJson(status);
        else context.print(`${renderBatch(status, Date.now(), context.paint)}\n${renderDetails(status)}`);
      }),
    );

  batch
    .command('ls')
    .description('list batches, the latest first')
    .option('-n, --limit <count>', 'at most so many', countArgument, 50)
    .addOption(jsonOption())
    .addHelpText('after', examples('longhaul batch ls', 'longhaul batch ls --json'))
    .action(({ limit, json }: { limit: number; json?: boolean }) =>
      context.withLonghaul(async ({ batches }) => {
        const found = await batches.list({ limit });
        if (json) context.printJson(found);
        else if (found.length === 0)
          context.note('There are no batches. Start one: longhaul batch run batch.yaml');
        else context.print(renderBatchList(found, Date.now(), context.paint));
      }),
    );

  batch
    .command('watch')
    .description('follow a batch to its end; Ctrl-C detaches, the batch goes on')
    .argument('<id>', "the batch's ID")
    .addOption(jsonOption('lines'))
    .addHelpText('after', examples('longhaul batch watch nightly'))
    .action((id: string, { json }: { json?: boolean }) =>
      context.withLonghaul(({ batches }) => followBatch(batches.get(id), context, json ?? false)),
    );

  batch
    .command('results')
    .description('one JSON document per item and line: outcome, attempt, hours, result or failure')
    .argument('<id>', "the batch's ID")
    .option('--follow', 'go on until the batch has ended')
    .option('--all-attempts', 'also the outcomes of attempts that were made again')
    .addOption(
      new Option('--outcome <which>', 'only these').choices([
        'completed',
        'failed',
        'cancelled',
        'not-started',
      ]),
    )
    // It prints nothing else; scripts may ask for it all the same.
    .addOption(jsonOption('lines').hideHelp())
    .addHelpText(
      'after',
      examples(
        'longhaul batch results nightly > results.jsonl',
        'longhaul batch results nightly --follow --outcome failed',
      ),
    )
    .action((id: string, options: { follow?: boolean; allAttempts?: boolean; outcome?: string }) =>
      context.withLonghaul(async ({ batches }) => {
        const { follow = false, allAttempts = false } = options;
        for await (const outcome of batches.get(id).results({ follow, allAttempts })) {
          if (options.outcome !== undefined && outcome.outcome !== options.outcome) continue;
          // A million lines must not pile up before a slow reader.
          if (!process.stdout.write(`${JSON.stringify(outcome)}\n`)) await once(process.stdout, 'drain');
        }
      }),
    );
}
