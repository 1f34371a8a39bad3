/** A batch for people, never wider than 80 columns. Pure. */

import type { BatchPhase, BatchPolicy } from '../../../contract/batch.js';
import { formatDuration } from '../../../contract/quantities.js';
import type { LiveBatchStatus } from '../../batch-reading.js';
import type { BatchSummary } from '../../batches.js';
import type { Paint } from '../context.js';
import { ago, bar, indent, oneLine, percent, table, timeSince, truncate } from '../render/text.js';

const COLUMNS = 80;
const BAR_WIDTH = 20;
const CAUSES_SHOWN = 5;

/** Everything about a batch, several lines. */
export function renderBatch(status: LiveBatchStatus, nowMs: number, paint: Paint): string {
  const { id, phase, items, startedAt, endedAt, causes, waitingFor, hold } = status;
  const ended = items.completed + items.failed + items.cancelled;
  const share = items.total === 0 ? 1 : ended / items.total;
  const head = `${paint.bold(truncate(id, 30))}  ${paintBatchPhase(phase, paint)}  ${paint.cyan(bar(share, BAR_WIDTH))} ${percent(share)}`;
  const time =
    endedAt === null
      ? `for ${timeSince(startedAt, nowMs)}`
      : `took ${timeSince(startedAt, Date.parse(endedAt))}`;
  return [
    head,
    `  ${ended} of ${items.total}  ${time}${pace(status)}`,
    `  ${counts(status, paint)}`,
    ...liveCounts(status),
    ...(waitingFor === null
      ? []
      : [paint.yellow(indent(wrap(`waits for ${oneLine(waitingFor)}`, COLUMNS - 2), '  '))]),
    ...(hold === null ? [] : [paint.dim(`  held since ${hold.since}`)]),
    ...causes.slice(0, CAUSES_SHOWN).map(({ code, count, example }) => {
      const cause = `  ${count} × ${code}`;
      const room = COLUMNS - cause.length - 2;
      return `${paint.red(cause)}  ${truncate(oneLine(`${example.item}: ${example.message}`), Math.max(10, room))}`;
    }),
  ].join('\n');
}

/** The same as one line of a log. */
export function batchLine(status: LiveBatchStatus, nowMs: number): string {
  const { items, phase, live } = status;
  const parts = [
    `${new Date(nowMs).toISOString()} ${phase}`,
    `completed ${items.completed}/${items.total}`,
    `failed ${items.failed}`,
    `running ${live?.running ?? 0}`,
    `paused ${live?.paused ?? 0}`,
    `pending ${items.pending}`,
  ];
  return parts.join('  ') + pace(status);
}

/** What a person wants to see before anything else of a batch: its jobs, its hours, its policy. */
export function renderDetails(status: LiveBatchStatus): string {
  const { hours, sandboxes, policy, round, priority } = status;
  return table([
    ['  round', String(round)],
    [
      '  hours',
      `running ${inHours(hours.running)} · paused ${inHours(hours.paused)} · provisioning ${inHours(hours.provisioning)}`,
    ],
    ['  sandboxes', String(sandboxes)],
    ['  policy', `${renderPolicy(policy)} · priority ${priority}`],
  ]);
}

export function renderBatchList(batches: readonly BatchSummary[], nowMs: number, paint: Paint): string {
  const header = ['ID', 'PHASE', 'DONE', 'FAILED', 'ITEMS', 'STARTED'].map((title) => paint.dim(title));
  const rows = batches.map(({ id, items, startedAt, status }) => [
    truncate(id, 32),
    status === null ? paint.dim('unknown') : paintBatchPhase(status.phase, paint),
    status === null ? '' : String(status.items.completed),
    status === null ? '' : String(status.items.failed),
    String(status?.items.total ?? items),
    ago(startedAt, nowMs),
  ]);
  return table([header, ...rows]);
}

export function paintBatchPhase(phase: BatchPhase, paint: Paint): string {
  switch (phase) {
    case 'completed':
      return paint.green(phase);
    case 'failed':
    case 'partially-failed':
    case 'stopped':
      return paint.red(phase);
    case 'cancelled':
    case 'cancelling':
      return paint.magenta(phase);
    case 'running':
      return paint.cyan(phase);
    default:
      return paint.yellow(phase);
  }
}

function counts({ items }: LiveBatchStatus, paint: Paint): string {
  const parts = [
    `${paint.green('completed')} ${items.completed}`,
    `${items.failed > 0 ? paint.red('failed') : 'failed'} ${items.failed}`,
    ...(items.cancelled > 0 ? [`cancelled ${items.cancelled}`] : []),
    `pending ${items.pending}`,
  ];
  return parts.join(' · ');
}

function liveCounts({ live }: LiveBatchStatus): string[] {
  return live === null
    ? []
    : [`  running ${live.running} · paused ${live.paused} · starting ${live.starting}`];
}

function pace({ endsPerSecond, remainingMs, phase, endedAt }: LiveBatchStatus): string {
  if (endedAt !== null || endsPerSecond === null) return '';
  const rate =
    endsPerSecond >= 1
      ? `${endsPerSecond.toFixed(1)}/s`
      : endsPerSecond * 60 >= 1
        ? `${(endsPerSecond * 60).toFixed(1)}/min`
        : `${(endsPerSecond * 3600).toFixed(1)}/h`;
  if (remainingMs !== null) return `  ${rate}  about ${formatDuration(Math.max(1000, remainingMs))} left`;
  return phase === 'paused' || phase === 'pausing' ? `  ${rate} when not paused` : `  ${rate}`;
}

function renderPolicy({ concurrency, ratePerSecond, stopAfter }: BatchPolicy): string {
  const stop =
    stopAfter === null
      ? 'never stops'
      : `stops after ${'failures' in stopAfter ? `${stopAfter.failures} failures` : `${stopAfter.percent} % failed`}`;
  const rate = ratePerSecond === null ? '' : ` · at most ${Number(ratePerSecond.toPrecision(3))} starts/s`;
  return `${concurrency} at once${rate} · ${stop}`;
}

function inHours(hours: number): string {
  return hours === 0 ? '0s' : formatDuration(hours * 3_600_000);
}

function wrap(text: string, columns: number): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = '  ';
    }
    line = line.trim() === '' ? line + word : `${line} ${word}`;
  }
  return [...lines, line].join('\n');
}
