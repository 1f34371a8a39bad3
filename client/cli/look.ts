/** Commands that only look: `ls`, `status`, `watch`, `logs`. */

import type { Command } from 'commander';
import type { JobStatus } from '../../contract/status.js';
import { readSandboxLogs } from '../sandbox-logs.js';
import { countArgument, examples, jsonOption } from './command-parts.js';
import type { CliContext } from './context.js';
import { follow } from './follow.js';
import { renderList } from './render/list.js';
import { renderStatus } from './render/status.js';
import { printable } from './render/text.js';
import { CliError } from './report-error.js';

const DEFAULT_TAIL_LINES = 200;

export function addLookCommands(program: Command, context: CliContext): void {
  program
    .command('ls')
    .description('list jobs, the latest first')
    .option('-n, --limit <count>', 'at most so many', countArgument, 50)
    .option('--open', 'leave out jobs that have ended')
    .addOption(jsonOption())
    .addHelpText('after', examples('longhaul ls', 'longhaul ls --open --limit 500 --json'))
    .action(({ limit, open, json }: { limit: number; open?: boolean; json?: boolean }) =>
      context.withLonghaul(async ({ jobs }) => {
        const found = await jobs.list({ limit, openOnly: open ?? false });
        if (json) context.printJson(found);
        else if (found.length === 0) context.note('There are no jobs. Start one: longhaul run job.yaml');
        else context.print(renderList(found, Date.now(), context.paint));
      }),
    );

  program
    .command('status')
    .description('all about one job: phase, what it waits for, holds, receipts, failure')
    .argument('<id>', "the job's ID")
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples('longhaul status image-audit', 'longhaul status image-audit --json | jq .holds'),
    )
    .action((id: string, { json }: { json?: boolean }) =>
      context.withLonghaul(async ({ jobs }) => {
        const status = await jobs.get(id).status();
        if (json) context.printJson(status);
        else context.print(renderStatus(status, Date.now(), context.paint));
      }),
    );

  program
    .command('watch')
    .description('follow a job to its end; Ctrl-C detaches, the job goes on')
    .argument('<id>', "the job's ID")
    .addOption(jsonOption('lines'))
    .addHelpText('after', examples('longhaul watch image-audit', 'longhaul watch image-audit --json'))
    .action((id: string, { json }: { json?: boolean }) =>
      context.withLonghaul(({ jobs }) => follow(jobs.get(id), context, json ?? false)),
    );

  program
    .command('logs')
    .description("the last lines of the sandbox's own log")
    .argument('<id>', "the job's ID")
    .option('--tail <lines>', 'at most so many', countArgument, DEFAULT_TAIL_LINES)
    .addOption(jsonOption())
    .addHelpText('after', examples('longhaul logs image-audit', 'longhaul logs image-audit --tail 20'))
    .action((id: string, { tail, json }: { tail: number; json?: boolean }) =>
      context.withLonghaul(async ({ jobs, config }) => {
        const status = await jobs.get(id).status();
        const logs = await findLogs(status, config.env, tail);
        if (json) context.printJson({ id, sandboxId: status.sandbox?.id ?? null, logs });
        // In a file or a pipe they are wanted as they are.
        else context.print(context.isTty ? printable(logs) : logs);
      }),
    );
}

/** From the sandbox while there is one, else what was kept when the job failed. */
async function findLogs(status: JobStatus, env: CliContext['env'], tailLines: number): Promise<string> {
  const { id, sandbox, failure, phase } = status;
  const isThere = sandbox !== null && sandbox.state !== 'deleted';
  const logs = isThere ? await readSandboxLogs(env, sandbox.id, tailLines) : null;
  const found = logs ?? failure?.logs ?? null;
  if (found !== null) return found;
  if (sandbox === null)
    throw new CliError('NO_LOGS', `The job "${id}" has no sandbox, so nothing was logged.`);
  throw new CliError(
    'NO_LOGS',
    phase === 'paused'
      ? `The job "${id}" is paused, and its log went with its process.`
      : `The sandbox of the job "${id}" is gone, and its log with it.`,
  );
}
