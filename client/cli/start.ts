/** Commands that begin with a spec: `validate`, `submit`, `run`. */

import { type Command, Option } from 'commander';
import type { SubmitOptions } from '../jobs.js';
import { readSpecFile } from '../spec-file.js';
import { examples, jsonOption } from './command-parts.js';
import type { CliContext } from './context.js';
import { follow } from './follow.js';

interface StartOptions {
  readonly json?: boolean;
  readonly id?: string;
  readonly ifExists: 'refuse' | 'attach';
}

export function addStartCommands(program: Command, context: CliContext): void {
  program
    .command('validate')
    .description('check a job spec, without submitting it')
    .argument('<spec>', 'YAML or JSON file')
    .addOption(jsonOption())
    .addHelpText('after', examples('longhaul validate job.yaml', 'longhaul validate job.yaml --json'))
    .action(async (file: string, { json }: { json?: boolean }) => {
      const spec = await readSpecFile(file);
      if (json) context.printJson({ valid: true, id: spec.id });
      else context.print(`${file} is valid.`);
    });

  startCommand('submit', 'start a job and print its ID')
    .addHelpText(
      'after',
      examples(
        'longhaul submit job.yaml',
        'ID=$(longhaul submit job.yaml --id nightly-7)',
        'longhaul submit job.yaml --if-exists attach',
      ),
    )
    .action((file: string, options: StartOptions) =>
      context.withLonghaul(async ({ jobs }) => {
        const { id } = await jobs.submit(file, submitOptions(options));
        if (options.json) context.printJson({ id });
        else context.print(id);
      }),
    );

  startCommand('run', 'start a job and watch it to its end; Ctrl-C detaches, the job goes on')
    .addHelpText('after', examples('longhaul run job.yaml', 'longhaul run job.yaml --json | jq -c .phase'))
    .action((file: string, options: StartOptions) =>
      context.withLonghaul(async ({ jobs }) => {
        const job = await jobs.submit(file, submitOptions(options));
        if (!options.json) context.note(`Submitted ${job.id}.`);
        await follow(job, context, options.json ?? false);
      }),
    );

  function startCommand(name: string, description: string): Command {
    return program
      .command(name)
      .description(description)
      .argument('<spec>', 'YAML or JSON file')
      .option('--id <id>', "the job's ID, instead of the spec's")
      .addOption(
        new Option('--if-exists <what>', 'when a job has the ID already: attach only if its spec is the same')
          .choices(['refuse', 'attach'])
          .default('refuse'),
      )
      .addOption(jsonOption(name === 'run' ? 'lines' : 'document'));
  }
}

function submitOptions({ id, ifExists }: StartOptions): SubmitOptions {
  return { ifExists, ...(id === undefined ? {} : { id }) };
}
