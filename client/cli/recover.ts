/** Commands that help a job by hand: `nudge`, `bounce`, `recreate`, and `keep` and `release` for what a failed one left. */

import type { Command } from 'commander';
import { durationArgument, examples, jsonOption } from './command-parts.js';
import type { CliContext } from './context.js';

const REMEDIES = [
  ['nudge', 'tell a stuck agent so, by the endpoint that its spec names'],
  ['bounce', 'start the agent anew on the same workspace: drain, pause, resume'],
  ['recreate', 'give up the sandbox and make a new one, from the last snapshot where there is one'],
] as const;

export function addRecoverCommands(program: Command, context: CliContext): void {
  for (const [name, description] of REMEDIES) {
    program
      .command(name)
      .description(description)
      .argument('<id>', "the job's ID")
      .addOption(jsonOption())
      .addHelpText('after', examples(`longhaul ${name} image-audit`))
      .action((id: string, { json }: { json?: boolean }) =>
        context.withLonghaul(async ({ jobs }) => {
          await jobs.get(id).recover(name, { by: context.user });
          if (json) context.printJson({ id, sent: name });
          else context.print(`Asked for a ${name} of ${id}; see longhaul timeline ${id}.`);
        }),
      );
  }

  program
    .command('keep')
    .description('keep the sandbox of a failed job for longer')
    .argument('<id>', "the job's ID")
    .requiredOption('--for <duration>', 'from now on', durationArgument)
    .addHelpText('after', examples('longhaul keep image-audit --for 48h'))
    .action((id: string, { for: forMs }: { for: number }) =>
      context.withLonghaul(async ({ jobs }) => {
        const until = new Date(Date.now() + forMs);
        await jobs.get(id).keep(until);
        context.print(`The sandbox of ${id} is kept until ${until.toISOString()}.`);
      }),
    );

  program
    .command('release')
    .description('delete the kept sandbox of a failed job now')
    .argument('<id>', "the job's ID")
    .addHelpText('after', examples('longhaul release image-audit'))
    .action((id: string) =>
      context.withLonghaul(async ({ jobs }) => {
        await jobs.get(id).release();
        context.print(`The sandbox of ${id} is being deleted.`);
      }),
    );
}
