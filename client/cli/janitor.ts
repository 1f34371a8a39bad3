/** `janitor`: finds what jobs that were terminated, or lost, have left in the sandbox API. */

import type { Command } from 'commander';
import type { JanitorReport } from '../../contract/janitor.js';
import { countArgument, durationArgument, examples, jsonOption } from './command-parts.js';
import type { CliContext } from './context.js';
import { oneLine, table } from './render/text.js';

interface JanitorOptions {
  readonly apply?: boolean;
  readonly minAge: number;
  readonly max: number;
  readonly json?: boolean;
}

export function addJanitorCommand(program: Command, context: CliContext): void {
  program
    .command('janitor')
    .description('find sandboxes whose job is over; without --apply it only tells')
    .option('--apply', 'delete them')
    .option('--min-age <duration>', 'leave younger sandboxes alone', durationArgument, 15 * 60_000)
    .option('--max <count>', 'delete at most so many', countArgument, 100)
    .addOption(jsonOption())
    .addHelpText('after', examples('longhaul janitor', 'longhaul janitor --apply --min-age 1h'))
    .action(({ apply = false, minAge, max, json }: JanitorOptions) =>
      context.withLonghaul(async (longhaul) => {
        const report = await longhaul.sweep({ apply, minAgeMs: minAge, maxDeletes: max });
        if (json) context.printJson(report);
        else context.print(render(report, context));
      }),
    );
}

function render({ looked, orphans, deleted, applied }: JanitorReport, { paint }: CliContext): string {
  const sandboxes = `${looked} sandbox${looked === 1 ? '' : 'es'} of jobs`;
  if (orphans.length === 0) return `${sandboxes}; each has its job.`;
  const header = ['SANDBOX', 'STATE', 'CREATED', '', 'WHY'].map((title) => paint.dim(title));
  const rows = orphans.map(({ sandboxId, state, createdAt, why }) => [
    sandboxId,
    state,
    createdAt ?? 'unknown',
    deleted.includes(sandboxId) ? 'deleted' : 'left',
    oneLine(why),
  ]);
  const advice = applied ? '' : '\nNothing was deleted; longhaul janitor --apply does it.';
  return `${table([header, ...rows])}\n${sandboxes}, ${orphans.length} without a job, ${deleted.length} deleted.${advice}`;
}
