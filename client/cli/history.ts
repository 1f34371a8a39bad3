/** Commands that tell what happened to a job: `timeline`, `receipts`. */

import type { Command } from 'commander';
import { examples, jsonOption } from './command-parts.js';
import type { CliContext } from './context.js';
import { renderReceipts } from './render/receipts.js';
import { renderTimeline } from './render/timeline.js';

export function addHistoryCommands(program: Command, context: CliContext): void {
  program
    .command('timeline')
    .description('everything that happened to a job, with its causes, and a picture of its time')
    .argument('<id>', "the job's ID")
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples('longhaul timeline image-audit', "longhaul timeline image-audit --json | jq '.events[-1]'"),
    )
    .action((id: string, { json }: { json?: boolean }) =>
      context.withLonghaul(async ({ jobs }) => {
        const timeline = await jobs.get(id).timeline();
        if (json) context.printJson(timeline);
        else context.print(renderTimeline(timeline.events, Date.now(), context.columns, context.paint));
        if (timeline.incomplete !== null) context.note(timeline.incomplete);
      }),
    );

  program
    .command('receipts')
    .description('what the pauses and resumes of a job are known to have done')
    .argument('<id>', "the job's ID")
    .addOption(jsonOption())
    .addHelpText('after', examples('longhaul receipts image-audit', 'longhaul receipts image-audit --json'))
    .action((id: string, { json }: { json?: boolean }) =>
      context.withLonghaul(async ({ jobs }) => {
        const { receipts } = await jobs.get(id).status();
        if (json) context.printJson(receipts);
        else if (receipts.length === 0) context.note(`The job "${id}" has not been paused yet.`);
        else context.print(renderReceipts(receipts, context.paint));
      }),
    );
}
