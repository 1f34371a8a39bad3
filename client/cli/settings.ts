/** Commands that tell a live job something that it keeps: `input`, `configure`. */

import { type Command, InvalidArgumentError } from 'commander';
import { SETTINGS_FIELDS } from '../../contract/job-settings.schema.js';
import { readDocument } from '../spec-file.js';
import { examples, jsonOption } from './command-parts.js';
import type { CliContext } from './context.js';
import { CliError } from './report-error.js';

/** Told apart from `null`, which is an answer. */
interface ParsedJson {
  readonly value: unknown;
}

export function addSettingCommands(program: Command, context: CliContext): void {
  program
    .command('input')
    .description("answer an agent's question; without an answer, show the question")
    .argument('<id>', "the job's ID")
    .option('--json <value>', 'the answer as JSON', jsonArgument)
    .option('--text <answer>', 'the answer as plain text')
    .addHelpText(
      'after',
      examples(
        'longhaul input review-7',
        `longhaul input review-7 --json '{"approve": true}'`,
        'longhaul input review-7 --text "take the second one"',
      ),
    )
    .action((id: string, { json, text }: { json?: ParsedJson; text?: string }) =>
      context.withLonghaul(async ({ jobs }) => {
        const job = jobs.get(id);
        if (json === undefined && text === undefined) {
          const { question } = await job.status();
          if (question === null) throw new CliError('NO_INPUT', `The job "${id}" asks nothing now.`);
          context.printJson(question);
          return;
        }
        if (json !== undefined && text !== undefined) {
          throw new CliError('CONFIG_INVALID', 'Answer with --json or with --text, not with both.');
        }
        await job.provideInput(json === undefined ? text : json.value, { by: context.user });
        context.print(`Answered ${id}; the agent gets it when its sandbox runs.`);
      }),
    );

  program
    .command('configure')
    .description('change the windows, limits, rates or notifications of a live job')
    .argument('<id>', "the job's ID")
    .requiredOption(
      '--file <file>',
      `YAML or JSON with the fields to change (${SETTINGS_FIELDS.join(', ')}), or a whole job spec`,
    )
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples(
        'longhaul configure image-audit --file limits.yaml',
        'longhaul configure image-audit --file job.yaml',
      ),
    )
    .action((id: string, { file, json }: { file: string; json?: boolean }) =>
      context.withLonghaul(async ({ jobs }) => {
        const { changes, leftOut } = splitDocument(await readDocument(file));
        if (leftOut.length > 0) {
          context.note(
            `${leftOut.join(', ')} cannot be changed on a live job and ${leftOut.length === 1 ? 'was' : 'were'} left out.`,
          );
        }
        const settings = await jobs.get(id).configure(changes, { by: context.user });
        if (json) context.printJson(settings);
        else context.print(`Changed ${Object.keys(changes).join(', ')} of ${id}.`);
      }),
    );
}

/** Fields of a spec that make the sandbox what it is; anything else that is no setting is a mistake, and is refused. */
const FIXED_FIELDS = ['id', 'sandbox', 'checkpoint', 'drain', 'input'];

function splitDocument(document: unknown): { changes: Record<string, unknown>; leftOut: string[] } {
  if (typeof document !== 'object' || document === null || Array.isArray(document)) {
    throw new CliError(
      'CONFIG_INVALID',
      'The file holds no settings; write e.g. "limits: { runningTime: 8h }".',
    );
  }
  const entries = Object.entries(document);
  return {
    changes: Object.fromEntries(entries.filter(([name]) => !FIXED_FIELDS.includes(name))),
    leftOut: entries.map(([name]) => name).filter((name) => FIXED_FIELDS.includes(name)),
  };
}

function jsonArgument(text: string): ParsedJson {
  try {
    return { value: JSON.parse(text) };
  } catch {
    throw new InvalidArgumentError('It is not JSON; for plain text use --text.');
  }
}
