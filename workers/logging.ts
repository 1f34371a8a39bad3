/** Logs of the process: JSON lines for machines, readable lines on a terminal. */

import type { Context } from '@temporalio/activity';
import { type ActivityInterceptors, DefaultLogger, type LogEntry, type LogLevel } from '@temporalio/worker';
import { type Level, type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

export function createLogger(level: string): Logger {
  const options = {
    level,
    // A task token lets its holder complete the activity.
    redact: ['taskToken'],
    base: { service: 'longhaul-worker' },
  };
  return process.stdout.isTTY ? pino(options, pretty({ ignore: 'pid,hostname,service' })) : pino(options);
}

/** Sends what Temporal's SDK logs to the same place; pino's levels bear the same names. */
export function temporalLogger(logger: Logger): DefaultLogger {
  return new DefaultLogger(logger.level.toUpperCase() as LogLevel, (entry: LogEntry) => {
    logger[entry.level.toLowerCase() as Level]({ ...entry.meta }, entry.message);
  });
}

/** Puts the IDs of job and sandbox on every log line of an activity, so that a job can be followed. */
export function logJobIds(context: Context): ActivityInterceptors {
  let sandboxId: unknown;
  return {
    inbound: {
      execute(input, next) {
        const argument = input.args[0] as { sandbox?: { id?: unknown }; sandboxId?: unknown } | undefined;
        sandboxId = argument?.sandbox?.id ?? argument?.sandboxId ?? undefined;
        return next(input);
      },
    },
    outbound: {
      getLogAttributes(input, next) {
        return { ...next(input), jobId: context.info.workflowExecution?.workflowId, sandboxId };
      },
    },
  };
}
