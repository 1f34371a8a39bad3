/** Shows a job on the terminal for as long as it goes on, or until somebody has seen enough. */

import { formatDuration } from '../../contract/quantities.js';
import type { JobStatus } from '../../contract/status.js';
import type { LonghaulError } from '../errors.js';
import type { JobHandle } from '../job-handle.js';
import { isFinal } from '../job-status.js';
import type { CliContext } from './context.js';
import { exitCodeOfEnd } from './exit-codes.js';
import { news, plainLine, progressLine } from './render/progress.js';
import { renderFailure, renderResult } from './render/status.js';

const REDRAW_MS = 1000;

/**
 * Follows the job to its end and sets the exit code accordingly. Ctrl-C detaches: the job goes on, and the
 * command ends well.
 */
export async function follow(job: JobHandle, context: CliContext, json: boolean): Promise<void> {
  const detach = new AbortController();
  const onInterrupt = () => detach.abort();
  // Once: a second Ctrl-C ends the process at once.
  process.once('SIGINT', onInterrupt);
  const view = chooseView(context, json);
  let last: JobStatus | null = null;
  try {
    const statuses = job.watch({ signal: detach.signal, onTrouble: (trouble) => view.trouble(trouble) });
    for await (const status of statuses) {
      view.show(status);
      last = status;
    }
  } finally {
    process.off('SIGINT', onInterrupt);
    view.end();
  }
  if (last !== null && isFinal(last.phase)) {
    if (!json) context.print(renderEnd(last, context));
    context.exitCode = exitCodeOfEnd(last.phase);
    return;
  }
  const { id } = job;
  context.note(
    `Detached. The job goes on: longhaul watch ${id} · longhaul status ${id} · longhaul cancel ${id}`,
  );
}

interface View {
  show(status: JobStatus): void;
  /** Nobody could be asked; the same trouble may be told many times. */
  trouble(trouble: LonghaulError): void;
  end(): void;
}

function chooseView(context: CliContext, json: boolean): View {
  if (json) return lineView(context, (status) => JSON.stringify(status));
  return context.isTty ? liveView(context) : lineView(context, (status) => plainLine(status, Date.now()));
}

/** One line per change, on standard output; troubles are told once each, on standard error. */
function lineView(context: CliContext, format: (status: JobStatus) => string): View {
  let told = '';
  return {
    show(status) {
      told = '';
      context.print(format(status));
    },
    trouble({ message }) {
      if (message !== told) context.note(`${message} Trying again…`);
      told = message;
    },
    end() {},
  };
}

/** One line that is redrawn, with its ages going on, below the lines that stay. */
function liveView(context: CliContext): View {
  let last: JobStatus | null = null;
  let trouble: LonghaulError | null = null;
  const clear = '\r\u001b[2K';
  const draw = () => {
    if (last === null && trouble === null) return;
    const line =
      trouble !== null || last === null
        ? context.paint.yellow(`${trouble?.message} Trying again…`.slice(0, context.columns - 1))
        : progressLine(last, Date.now(), context.columns, context.paint);
    process.stdout.write(clear + line);
  };
  const timer = setInterval(draw, REDRAW_MS);
  return {
    show(status) {
      trouble = null;
      for (const line of news(last, status, Date.now(), context.paint)) context.print(clear + line);
      last = status;
      draw();
    },
    trouble(error) {
      trouble = error;
      draw();
    },
    end() {
      clearInterval(timer);
      process.stdout.write(clear);
    },
  };
}

function renderEnd(
  { id, phase, failure, result, startedAt, endedAt }: JobStatus,
  { paint }: CliContext,
): string {
  const time = formatDuration(Math.max(0, Date.parse(endedAt ?? startedAt) - Date.parse(startedAt)));
  switch (phase) {
    case 'completed': {
      const done = `${paint.green('✔')} ${paint.bold(id)} completed in ${time}`;
      return result === null || result === undefined ? done : `${done}\n${renderResult(result, id)}`;
    }
    case 'cancelled':
      return `${paint.magenta('■')} ${paint.bold(id)} was cancelled after ${time}`;
    default: {
      const failed = `${paint.red('✘')} ${paint.bold(id)} failed after ${time}`;
      return failure === null ? failed : `${failed}\n${renderFailure(failure, paint)}`;
    }
  }
}
