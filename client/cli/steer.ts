/** Commands that change what a job does: `pause`, `resume`, `cancel`. */

import { type Command, Option } from 'commander';
import { formatDuration } from '../../contract/quantities.js';
import type { JobStatus } from '../../contract/status.js';
import type { JobHandle } from '../job-handle.js';
import { isFinal } from '../job-status.js';
import { durationArgument, examples, futureArgument, jsonOption } from './command-parts.js';
import type { CliContext } from './context.js';
import { renderStatus } from './render/status.js';
import { CliError } from './report-error.js';

const DEFAULT_TIMEOUT_MS = 120_000;

interface SteerOptions {
  readonly json?: boolean;
  readonly wait?: boolean;
  readonly timeout: number;
  readonly reason?: string;
  readonly for?: number;
  readonly until?: string;
  readonly force?: boolean;
}

interface Steering {
  readonly name: 'pause' | 'resume' | 'cancel';
  readonly description: string;
  readonly send: (job: JobHandle, options: SteerOptions) => Promise<void>;
  /** When what was asked for has come true. */
  readonly isSo: (status: JobStatus) => boolean;
}

export function addSteerCommands(program: Command, context: CliContext): void {
  const by = context.user;
  steeringCommand({
    name: 'pause',
    description: "stop a job's sandbox and keep its workspace",
    send: (job, { reason, for: forMs, until }) => {
      const end = until ?? (forMs === undefined ? undefined : new Date(Date.now() + forMs).toISOString());
      return job.pause({
        by,
        ...(reason === undefined ? {} : { reason }),
        ...(end === undefined ? {} : { until: end }),
      });
    },
    isSo: ({ phase }) => phase === 'paused',
  })
    .option('--reason <text>', 'why, for everybody who looks')
    .addOption(
      new Option('--for <duration>', 'resume by itself after this')
        .argParser(durationArgument)
        .conflicts('until'),
    )
    .option('--until <time>', 'resume by itself at this time, e.g. 2026-12-24T18:00:00+01:00', futureArgument)
    .addHelpText(
      'after',
      examples(
        'longhaul pause image-audit',
        'longhaul pause image-audit --reason "night" --wait --timeout 5m',
        'longhaul pause image-audit --for 8h',
      ),
    );

  steeringCommand({
    name: 'resume',
    description: 'let a paused job go on',
    send: (job, { force }) => job.resume({ by, ...(force ? { force } : {}) }),
    isSo: ({ phase }) => phase === 'running',
  })
    .option('--force', 'clear every hold, also those of windows, questions, sleeps and limits')
    .addHelpText(
      'after',
      examples(
        'longhaul resume image-audit',
        'longhaul resume image-audit --wait',
        'longhaul resume image-audit --force',
      ),
    );

  steeringCommand({
    name: 'cancel',
    description: 'end a job and delete its sandbox',
    send: (job) => job.cancel(),
    isSo: ({ phase }) => phase === 'cancelled',
  }).addHelpText('after', examples('longhaul cancel image-audit', 'longhaul cancel image-audit --wait'));

  function steeringCommand(steering: Steering): Command {
    const { name, description, send, isSo } = steering;
    return program
      .command(name)
      .description(description)
      .argument('<id>', "the job's ID")
      .option('--wait', 'return only when it is so')
      .option('--timeout <duration>', 'how long --wait may take', durationArgument, DEFAULT_TIMEOUT_MS)
      .addOption(jsonOption())
      .action((id: string, options: SteerOptions) =>
        context.withLonghaul(async ({ jobs }) => {
          const job = jobs.get(id);
          await send(job, options);
          const status = options.wait ? await awaitStatus(job, name, isSo, options.timeout) : null;
          if (options.json) context.printJson({ id, sent: name, status });
          else if (status === null) context.print(`Asked ${id} to ${name}.`);
          else context.print(renderStatus(status, Date.now(), context.paint));
        }),
      );
  }
}

/** @throws CliError NOT_IN_TIME, also when the job ends otherwise. */
async function awaitStatus(
  job: JobHandle,
  verb: string,
  isSo: (status: JobStatus) => boolean,
  timeoutMs: number,
): Promise<JobStatus> {
  let last: JobStatus | null = null;
  for await (const status of job.watch({ signal: AbortSignal.timeout(timeoutMs) })) {
    if (isSo(status)) return status;
    if (isFinal(status.phase)) {
      throw new CliError('NOT_IN_TIME', `The job "${job.id}" ended (${status.phase}) before the ${verb}.`);
    }
    last = status;
  }
  const state = last === null ? 'nobody answers for it' : `it is ${last.phase}`;
  const why = last?.waitingFor ? ` and waits for ${last.waitingFor.what}` : '';
  const warning = last?.warnings.at(-1);
  throw new CliError(
    'NOT_IN_TIME',
    `The ${verb} of "${job.id}" was sent, but after ${formatDuration(timeoutMs)} ${state}${why}.${warning === undefined ? '' : ` ${warning}`}`,
  );
}
