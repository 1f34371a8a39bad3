/**
 * Commands that start processes: `dev`, `demo`, `worker`. What they run is loaded only when it is asked for,
 * so that the other commands start quickly and the client stays free of servers.
 */

import { type Command, Option } from 'commander';
import { examples, jsonOption } from './command-parts.js';
import type { CliContext } from './context.js';
import { EXIT } from './exit-codes.js';
import { CliError } from './report-error.js';

export function addProcessCommands(program: Command, context: CliContext): void {
  program
    .command('dev')
    .description('start everything on this machine: Temporal, a sandbox server and a worker')
    .option('--faults', 'let the sandbox server misbehave on demand, by POST /__faults')
    .addOption(
      new Option(
        '--pause-kind <kind>',
        'what a pause does to processes: ends them, or stops them as docker does',
      )
        .choices(['pod', 'frozen'])
        .default('pod'),
    )
    .addOption(jsonOption('lines'))
    .addHelpText(
      'after',
      `${examples('longhaul dev', 'longhaul dev --faults')}\n\nThe other commands find it by themselves. LONGHAUL_HOME is where its data is kept.`,
    )
    .action(async ({ json, faults, pauseKind }: { json?: boolean; faults?: boolean; pauseKind: string }) => {
      const { runDev } = await import('../../local/dev/index.js');
      await runDev({
        env: context.env,
        sandboxServerFlags: ['--pause-kind', pauseKind, ...(faults ? ['--faults'] : [])],
        log: (line) => context.print(json ? JSON.stringify({ message: line }) : line),
      });
    });

  program
    .command('demo')
    .description('see a real agent paused, resumed, and finished although its worker is killed')
    .addHelpText('after', examples('longhaul demo'))
    .action(async () => {
      const { runDemo } = await import('./demo/index.js');
      if ((await runDemo(process.env)) !== 0) context.exitCode = EXIT.JOB_FAILED;
    });

  program
    .command('worker')
    .description('carry out jobs, until SIGTERM or Ctrl-C; its log is JSON unless it goes to a terminal')
    .addHelpText(
      'after',
      `${examples('OPEN_SANDBOX_API_URL=… OPEN_SANDBOX_API_KEY=… TEMPORAL_ADDRESS=… longhaul worker')}\n\nWhile \`longhaul dev\` runs on this machine, it needs no environment.`,
    )
    .action(async () => {
      // Fails at once, and in our words, where Temporal cannot be reached.
      const { env, connection, namespace } = await context.withLonghaul(async ({ config }) => config);
      const { runWorker } = await import('../../workers/main.js');
      await runWorker(env, { connection, namespace }).catch((error: Error) => {
        throw error.name === 'WorkerConfigError' ? new CliError('CONFIG_INVALID', error.message) : error;
      });
    });
}
