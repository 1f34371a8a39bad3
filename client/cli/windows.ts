/** `windows preview`: what the windows of a spec mean, before anything is submitted. */

import { existsSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { isZoneDataOld, previewPauses, zoneData } from '../../calendar/index.js';
import { problemsOf } from '../../contract/problems.schema.js';
import type { WindowRules } from '../../contract/windows.js';
import { checkWindows, windowRules } from '../../contract/windows.schema.js';
import { LonghaulError } from '../errors.js';
import { readDocument } from '../spec-file.js';
import { countArgument, examples, jsonOption } from './command-parts.js';
import type { CliContext } from './context.js';
import { renderPauses } from './render/windows.js';

const DEFAULT_COUNT = 10;

interface PreviewOptions {
  readonly next: number;
  readonly from?: string;
  readonly json?: boolean;
}

export function addWindowsCommands(program: Command, context: CliContext): void {
  program
    .command('windows')
    .description('the windows in which jobs are paused')
    .command('preview')
    .description('the coming pauses of a job spec or of a live job, in local time and UTC')
    .argument('<spec or id>', 'YAML or JSON file, of which only the windows are read; else the ID of a job')
    .option('-n, --next <count>', 'at most so many pauses', countArgument, DEFAULT_COUNT)
    .option('--from <instant>', 'as of this time instead of now, e.g. 2026-10-24T12:00:00Z', instantArgument)
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples(
        'longhaul windows preview job.yaml',
        'longhaul windows preview image-audit',
        'longhaul windows preview job.yaml --next 3 --from 2026-10-24T12:00:00+02:00',
        "longhaul windows preview job.yaml --json | jq -r '.[].start'",
      ),
    )
    .action(async (of: string, { next, from = new Date().toISOString(), json }: PreviewOptions) => {
      const rules =
        existsSync(of) || /\.(ya?ml|json)$/.test(of) ? await readWindows(of, from) : await windowsOf(of);
      const pauses = previewPauses(rules, from, next);
      if (json) context.printJson(pauses);
      else if (rules.pauseWindows.length + rules.runWindows.length === 0) {
        context.note(`${of} has no pauseWindows and no runWindows, so no window pauses its job.`);
      } else if (pauses.length === 0) context.note(`No window of ${of} pauses its job from ${from} on.`);
      else context.print(renderPauses(pauses, zoneData(), context.paint));
      if (isZoneDataOld(Date.now())) {
        context.note(
          `warning: the zone data ${zoneData().version} is old, and clocks may be changed otherwise by now; update longhaul`,
        );
      }
    });

  function windowsOf(jobId: string): Promise<WindowRules> {
    return context.withLonghaul(({ jobs }) => jobs.get(jobId).settings());
  }
}

const documentWithWindows = z.looseObject(
  { pauseWindows: windowRules.default([]), runWindows: windowRules.default([]) },
  { error: 'expected a job spec' },
);

/** The rest of a spec may still be wrong: whoever tries out windows need not have finished it. */
async function readWindows(file: string, now: string): Promise<WindowRules> {
  const parsed = documentWithWindows.safeParse(await readDocument(file));
  const problems = parsed.success
    ? checkWindows(parsed.data, now)
    : parsed.error.issues.flatMap((issue) => problemsOf(issue, 'a job spec'));
  if (parsed.success && problems.length === 0) return parsed.data;
  const count = problems.length === 1 ? 'one problem' : `${problems.length} problems`;
  throw new LonghaulError('SPEC_INVALID', `The windows were refused: ${count}.`, { problems, file });
}

/** @returns ISO 8601, UTC. @throws InvalidArgumentError */
function instantArgument(text: string): string {
  const hasOffset = /^\d{4}-\d\d-\d\dT\d\d:\d\d.*(Z|[+-]\d\d:?\d\d)$/.test(text);
  const ms = hasOffset ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) {
    throw new InvalidArgumentError('Write a time with its offset, such as 2026-12-24T18:00:00+01:00 or …Z.');
  }
  return new Date(ms).toISOString();
}
