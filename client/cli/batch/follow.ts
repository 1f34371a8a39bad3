/** Shows a batch on the terminal to its end, or until somebody has seen enough. */

import type { BatchHandle } from '../../batch-handle.js';
import type { LiveBatchStatus } from '../../batch-reading.js';
import type { LonghaulError } from '../../errors.js';
import type { CliContext } from '../context.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { batchLine, renderBatch } from './render.js';

const REDRAW_MS = 1000;
/** Between two lines of a log. */
const LINE_EVERY_MS = 5000;

/** Sets the exit code by the end of the batch. Ctrl-C detaches: the batch goes on, and the command ends well. */
export async function followBatch(batch: BatchHandle, context: CliContext, json: boolean): Promise<void> {
  const detach = new AbortController();
  const onInterrupt = () => detach.abort();
  process.once('SIGINT', onInterrupt);
  const view = json ? jsonView(context) : context.isTty ? liveView(context) : logView(context);
  let last: LiveBatchStatus | null = null;
  try {
    const statuses = batch.watch({ signal: detach.signal, onTrouble: (trouble) => view.trouble(trouble) });
    for await (const status of statuses) {
      view.show(status);
      last = status;
    }
  } finally {
    process.off('SIGINT', onInterrupt);
    view.end();
  }
  const { id } = batch;
  if (last?.endedAt == null) {
    context.note(`Detached. The batch goes on: longhaul batch watch ${id} · longhaul batch cancel ${id}`);
    return;
  }
  context.exitCode = exitCodeOfBatch(last);
  if (json) return;
  context.print(renderBatch(last, Date.now(), context.paint));
  context.note(`Results: longhaul batch results ${id}`);
  if (last.items.failed > 0) context.note(`Try again: longhaul batch retry ${id} --failed`);
}

export function exitCodeOfBatch({ phase }: LiveBatchStatus): ExitCode {
  if (phase === 'completed') return EXIT.DONE;
  return phase === 'cancelled' ? EXIT.CANCELLED : EXIT.JOB_FAILED;
}

interface View {
  show(status: LiveBatchStatus): void;
  trouble(trouble: LonghaulError): void;
  end(): void;
}

function jsonView(context: CliContext): View {
  return {
    show: (status) => context.print(JSON.stringify(status)),
    trouble: ({ message }) => context.note(`${message} Trying again…`),
    end() {},
  };
}

/** A line at every change of phase, and else every few seconds. */
function logView(context: CliContext): View {
  let phase = '';
  let printedAtMs = 0;
  let told = '';
  return {
    show(status) {
      told = '';
      if (status.phase === phase && Date.now() - printedAtMs < LINE_EVERY_MS) return;
      phase = status.phase;
      printedAtMs = Date.now();
      context.print(batchLine(status, printedAtMs));
    },
    trouble({ message }) {
      if (message !== told) context.note(`${message} Trying again…`);
      told = message;
    },
    end() {},
  };
}

/** Some lines that are redrawn in place, with their times going on. */
function liveView(context: CliContext): View {
  let last: LiveBatchStatus | null = null;
  let trouble: LonghaulError | null = null;
  let drawnLines = 0;
  const clear = () => {
    const text = drawnLines === 0 ? '' : `\u001b[${drawnLines}A\r\u001b[J`;
    drawnLines = 0;
    return text;
  };
  const draw = () => {
    const text = [
      ...(last === null ? [] : [renderBatch(last, Date.now(), context.paint)]),
      ...(trouble === null ? [] : [context.paint.yellow(`  ${trouble.message.slice(0, 60)} Trying again…`)]),
    ].join('\n');
    if (text === '') return;
    const lines = text.split('\n').length;
    process.stdout.write(`${clear()}${text}\n`);
    drawnLines = lines;
  };
  const timer = setInterval(draw, REDRAW_MS);
  return {
    show(status) {
      trouble = null;
      last = status;
      draw();
    },
    trouble(error) {
      trouble = error;
      draw();
    },
    end() {
      clearInterval(timer);
      process.stdout.write(clear());
    },
  };
}
