/** The whole status of a job, for people. Pure. */

import type { CheckpointSummary } from '../../../contract/checkpoint.js';
import { formatDuration } from '../../../contract/quantities.js';
import type { Hold, JobFailure, JobStatus, LimitUse, Receipt } from '../../../contract/status.js';
import type { Paint } from '../context.js';
import { paintPhase } from './phase.js';
import { ago, bar, indent, oneLine, percent, printable, table, timeSince } from './text.js';

const BAR_WIDTH = 20;
/** Of the longest phase. */
const PHASE_WIDTH = 'provisioning'.length;
const RECEIPTS_SHOWN = 3;
const HOUR_MS = 3_600_000;
/** A longer result is left to `--json`. */
const RESULT_MAX_CHARS = 2000;

export function renderStatus(status: JobStatus, nowMs: number, paint: Paint): string {
  const { sandbox, verdict, waitingFor, checkpoint } = status;
  const facts: [string, string][] = [];
  if (waitingFor !== null) {
    facts.push([
      'waits for',
      `${oneLine(waitingFor.what)} ${paint.dim(`(${ago(waitingFor.since, nowMs)})`)}`,
    ]);
  }
  if (checkpoint !== null) facts.push(['checkpoint', renderCheckpoint(checkpoint, nowMs, paint)]);
  if (verdict !== null && status.endedAt === null) {
    const because = verdict.is === 'ready' ? '' : `: ${oneLine(verdict.because)}`;
    facts.push(['agent', `${verdict.is} for ${timeSince(verdict.since, nowMs)}${because}`]);
  }
  if (sandbox !== null) {
    facts.push(['sandbox', `${sandbox.id}  ${sandbox.state}  incarnation ${sandbox.incarnation}`]);
  }
  facts.push(['time', renderTimes(status)]);
  const { limits, nextEdge, overrideUntil } = status;
  if (limits.length > 0) facts.push(['limits', limits.map((use) => renderLimit(use, paint)).join(' · ')]);
  if (overrideUntil !== null) facts.push(['override', `runs in spite of its windows until ${overrideUntil}`]);
  if (nextEdge !== null) facts.push(['calendar', `${nextEdge.does}s at ${nextEdge.at}`]);
  if (status.restarts > 0) facts.push(['restarts', String(status.restarts)]);
  facts.push(['started', `${status.startedAt} ${paint.dim(`(${ago(status.startedAt, nowMs)})`)}`]);
  if (status.endedAt !== null)
    facts.push(['ended', `${status.endedAt} ${paint.dim(`(${ago(status.endedAt, nowMs)})`)}`]);

  const since = paint.dim(`for ${timeSince(status.phaseSince, nowMs)}`);
  const blocks = [
    `${paint.bold(status.id)}  ${paintPhase(status.phase, paint)}  ${since}`,
    indent(table(facts.map(([name, value]) => [paint.dim(name), value])), '  '),
  ];
  if (status.holds.length > 0) blocks.push(section('holds', renderHolds(status.holds, nowMs, paint), paint));
  if (status.receipts.length > 0) {
    const shown = status.receipts.slice(-RECEIPTS_SHOWN);
    const title = shown.length < status.receipts.length ? `last ${shown.length} receipts` : 'receipts';
    blocks.push(section(title, table(shown.map((receipt) => renderReceipt(receipt, paint))), paint));
  }
  if (status.warnings.length > 0) {
    blocks.push(
      section('warnings', status.warnings.map((text) => paint.yellow(oneLine(text))).join('\n'), paint),
    );
  }
  if (status.failure !== null) blocks.push(section('failure', renderFailure(status.failure, paint), paint));
  if (status.result !== null && status.result !== undefined) {
    blocks.push(section('result', renderResult(status.result, status.id), paint));
  }
  return blocks.join('\n');
}

function renderTimes({ hours, cost }: JobStatus): string {
  const time = (kind: keyof typeof hours) =>
    `${kind} ${hours[kind] === 0 ? '0s' : formatDuration(hours[kind] * HOUR_MS)}`;
  return [
    ...(['running', 'paused', 'provisioning'] as const).map(time),
    ...(hours.wasted > 0 ? [time('wasted')] : []),
    ...(cost === null ? [] : [`${cost.amount} ${cost.currency}`]),
  ].join(' · ');
}

function renderLimit({ name, used, limit, waived }: LimitUse, paint: Paint): string {
  const share = `${name} ${Math.floor(used * 100)} % of ${limit}`;
  if (waived) return `${share} (waived)`;
  return used >= 0.8 ? paint.yellow(share) : share;
}

export function renderFailure({ code, message, logs }: JobFailure, paint: Paint): string {
  const lines = [`${paint.red(code)}  ${printable(message)}`];
  if (logs !== null) {
    lines.push(paint.dim('last lines of its log:'), indent(printable(logs.trimEnd()), paint.dim('│ ')));
  }
  return lines.join('\n');
}

export function renderResult(result: unknown, id: string): string {
  const text = printable(JSON.stringify(result, null, 2));
  if (text.length <= RESULT_MAX_CHARS) return text;
  return `${text.length} characters; see \`longhaul status ${id} --json\``;
}

/** A job in one line, without colours. */
export function renderLine({ phase, checkpoint, waitingFor }: JobStatus): string {
  const progress = checkpoint?.progress ?? null;
  return [
    phase.padEnd(PHASE_WIDTH),
    progress === null ? [] : `${bar(progress, BAR_WIDTH)} ${percent(progress).padStart(5)}`,
    checkpoint === null || checkpoint.step === null ? [] : `step ${checkpoint.step}`,
    oneLine(waitingFor === null ? (checkpoint?.message ?? '') : `waits for ${waitingFor.what}`),
  ]
    .flat()
    .join('  ')
    .trimEnd();
}

/** `step 12 · 42 %`, or what there is of it. */
export function place(checkpoint: CheckpointSummary | null): string {
  if (checkpoint === null) return 'no checkpoint';
  const { step, progress, status } = checkpoint;
  const parts = [step === null ? [] : `step ${step}`, progress === null ? [] : percent(progress)].flat();
  return parts.join(' · ') || status;
}

function renderCheckpoint(checkpoint: CheckpointSummary, nowMs: number, paint: Paint): string {
  const { status, step, progress, message, readAt } = checkpoint;
  return [
    progress === null ? [] : `${paint.cyan(bar(progress, BAR_WIDTH))} ${percent(progress)}`,
    step === null ? [] : `step ${step}`,
    status === 'running' ? [] : status,
    message === null ? [] : oneLine(message),
    paint.dim(`(read ${ago(readAt, nowMs)})`),
  ]
    .flat()
    .join('  ');
}

function renderHolds(holds: readonly Hold[], nowMs: number, paint: Paint): string {
  const header = ['KIND', 'BY', 'SINCE', 'UNTIL', 'WHY'].map((title) => paint.dim(title));
  const rows = holds.map((hold) => [
    hold.kind,
    oneLine(hold.by),
    ago(hold.since, nowMs),
    hold.until ?? 'cleared',
    oneLine(hold.reason),
  ]);
  return table([header, ...rows]);
}

function renderReceipt(receipt: Receipt, paint: Paint): string[] {
  const { kind, incarnation, cause, requestedAt, observedAt, readyAt, before, after, regressed } = receipt;
  const took = (from: string, to: string) => formatDuration(Math.max(0, Date.parse(to) - Date.parse(from)));
  const what =
    kind === 'pause'
      ? `paused in ${took(requestedAt, observedAt)} at ${place(before)} (${cause.join(', ') || 'restart'})`
      : `running in ${took(requestedAt, observedAt)}${
          readyAt === null ? '' : `, answered in ${took(requestedAt, readyAt)}`
        }: ${place(before)} → ${place(after)}`;
  const verdict = regressed ? [paint.red('WORK LOST')] : [];
  return [requestedAt, kind, `#${incarnation}`, what, ...verdict];
}

function section(title: string, body: string, paint: Paint): string {
  return `  ${paint.bold(title)}\n${indent(body, '    ')}`;
}
