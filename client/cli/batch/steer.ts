/** Commands that change what a batch does: `batch pause`, `resume`, `cancel`, `configure`. */

import { type Command, InvalidArgumentError } from 'commander';
import type { BatchChangesSource } from '../../../contract/batch.schema.js';
import type { BatchHandle } from '../../batch-handle.js';
import { examples, jsonOption } from '../command-parts.js';
import type { CliContext } from '../context.js';

interface Options {
  readonly json?: boolean;
  readonly reason?: string;
}

export function addBatchSteerCommands(batch: Command, context: CliContext): void {
  const by = context.user;

  command('pause', 'start no more jobs and pause those that run', (handle, { reason }: Options) =>
    handle.pause({ by, ...(reason === undefined ? {} : { reason }) }),
  )
    .option('--reason <text>', 'why, for everybody who looks')
    .addHelpText('after', examples('longhaul batch pause nightly --reason "maintenance"'));

  command('resume', 'let a paused or blocked batch go on', (handle) => handle.resume({ by })).addHelpText(
    'after',
    examples('longhaul batch resume nightly'),
  );

  command('cancel', 'end every job of the batch and delete its sandbox', (handle) =>
    handle.cancel(),
  ).addHelpText('after', examples('longhaul batch cancel nightly'));

  command('configure', 'change the policy of a batch that runs', (handle, changes: ConfigureOptions) => {
    const { concurrency, rate, stopAfter } = changes;
    const source: BatchChangesSource = {
      ...(concurrency === undefined ? {} : { concurrency }),
      ...(rate === undefined ? {} : { rate }),
      ...(stopAfter === undefined ? {} : { stopAfter }),
    };
    return handle.configure(source, { by });
  })
    .option('--concurrency <count>', 'jobs in flight at once', numberArgument)
    .option('--rate <rate>', 'starts, e.g. 5/s, 30/m or unlimited')
    .option('--stop-after <failures>', 'e.g. 10, 5% or never', (text) =>
      /^\d+$/.test(text) ? Number(text) : text,
    )
    .addHelpText(
      'after',
      examples(
        'longhaul batch configure nightly --concurrency 200',
        'longhaul batch configure nightly --stop-after 5%',
      ),
    );

  function command<O extends Options>(
    name: string,
    description: string,
    send: (handle: BatchHandle, options: O) => Promise<void>,
  ): Command {
    return batch
      .command(name)
      .description(description)
      .argument('<id>', "the batch's ID")
      .addOption(jsonOption())
      .action((id: string, options: O) =>
        context.withLonghaul(async ({ batches }) => {
          await send(batches.get(id), options);
          if (options.json) context.printJson({ id, sent: name });
          else context.print(`Asked ${id} to ${name}.`);
        }),
      );
  }
}

interface ConfigureOptions extends Options {
  readonly concurrency?: number;
  readonly rate?: string;
  readonly stopAfter?: number | string;
}

/** Its range is checked with the rest of the policy. */
function numberArgument(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count)) throw new InvalidArgumentError('Write a whole number.');
  return count;
}
