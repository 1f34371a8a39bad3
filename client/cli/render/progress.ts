/** A job in one line while it is followed, and what is worth a line of its own. Pure. */

import type { JobStatus } from '../../../contract/status.js';
import type { Paint } from '../context.js';
import { paintPhase } from './phase.js';
import { renderLine } from './status.js';
import { ago, bar, oneLine, percent, timeSince, truncate } from './text.js';

const BAR_WIDTH = 24;
/** What else stands in the line comes first where there is little room. */
const COLUMNS_BESIDE_BAR = 48;

/** The line that is redrawn in place; never wider than the terminal. */
export function progressLine(status: JobStatus, nowMs: number, columns: number, paint: Paint): string {
  const { checkpoint, phase, waitingFor } = status;
  const progress = checkpoint?.progress ?? null;
  const barWidth = Math.min(BAR_WIDTH, Math.max(0, columns - COLUMNS_BESIDE_BAR));
  const gauge =
    progress === null ? [] : [barWidth === 0 ? [] : bar(progress, barWidth), percent(progress), ' '].flat();
  const head = `${phase}  ${gauge.join(' ')}`;
  const tail = truncate(describe(status, nowMs), Math.max(0, columns - 1 - head.length));
  const painted = `${paintPhase(phase, paint)}${paint.cyan(head.slice(phase.length))}`;
  return painted + (waitingFor === null ? tail : paint.dim(tail));
}

/** The same for a log: complete, without colours, with its time. */
export function plainLine(status: JobStatus, nowMs: number): string {
  return `${new Date(nowMs).toISOString()} ${renderLine(status)}`;
}

/** What changed so that it should stay to be read: phases, receipts and warnings. */
export function news(before: JobStatus | null, status: JobStatus, nowMs: number, paint: Paint): string[] {
  const time = paint.dim(new Date(nowMs).toTimeString().slice(0, 8));
  const lines: string[] = [];
  if (before?.phase !== status.phase) {
    const why =
      status.waitingFor === null ? '' : `  ${paint.dim(`waits for ${oneLine(status.waitingFor.what)}`)}`;
    lines.push(`${time}  ${paintPhase(status.phase, paint)}${why}`);
  }
  const known = new Set(before?.warnings ?? []);
  for (const warning of status.warnings) {
    if (!known.has(warning)) lines.push(`${time}  ${paint.yellow(oneLine(warning))}`);
  }
  return lines;
}

function describe({ checkpoint, phase, waitingFor, verdict }: JobStatus, nowMs: number): string {
  if (waitingFor !== null)
    return `waits for ${oneLine(waitingFor.what)} (${timeSince(waitingFor.since, nowMs)})`;
  if (phase === 'running' && verdict !== null && verdict.is !== 'ready') {
    return `${verdict.is} for ${timeSince(verdict.since, nowMs)}: ${oneLine(verdict.because)}`;
  }
  if (checkpoint === null) return '';
  const { step, message, readAt } = checkpoint;
  const parts = [step === null ? [] : `step ${step}`, message === null ? [] : oneLine(message)].flat();
  return `${parts.join('  ')}  (${ago(readAt, nowMs)})`;
}
