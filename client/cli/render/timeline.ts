/** What happened to a job, as a picture of its time and as a list. Pure. */

import { formatDuration } from '../../../contract/quantities.js';
import type { Phase } from '../../../contract/status.js';
import type { JobEvent } from '../../../contract/timeline.js';
import type { Paint } from '../context.js';
import { paintPhase } from './phase.js';
import { oneLine, table, truncate } from './text.js';

const MAX_BAR_WIDTH = 100;
const FINAL: readonly Phase[] = ['completed', 'failed', 'cancelled'];

/** How the time of a phase looks in the picture, in the order in which one wins over another in a narrow column. */
const LOOKS = [
  { of: ['running'], name: 'running', glyph: '█' },
  { of: ['paused'], name: 'paused', glyph: '░' },
  { of: ['provisioning', 'resuming', 'draining', 'pausing', 'collecting'], name: 'between', glyph: '▒' },
  { of: ['scheduled'], name: 'waiting to start', glyph: '·' },
] as const satisfies readonly { of: readonly Phase[]; name: string; glyph: string }[];

type Look = (typeof LOOKS)[number];

interface Stretch {
  readonly phase: Phase;
  readonly fromMs: number;
  readonly toMs: number;
}

export function renderTimeline(
  events: readonly JobEvent[],
  nowMs: number,
  columns: number,
  paint: Paint,
): string {
  const stretches = stretchesOf(events, nowMs);
  return [
    picture(stretches, Math.min(columns, MAX_BAR_WIDTH), paint),
    list(events, stretches, columns, paint),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** The phases with their times; the last one of an open job lasts until now. */
export function stretchesOf(events: readonly JobEvent[], nowMs: number): Stretch[] {
  const entered = events.filter(({ event, phase }) => event === phase);
  return entered
    .map(({ phase, at }, index) => {
      const next = entered[index + 1];
      const end = next === undefined ? nowMs : Date.parse(next.at);
      return { phase, fromMs: Date.parse(at), toMs: FINAL.includes(phase) ? Date.parse(at) : end };
    })
    .map((stretch) => ({ ...stretch, toMs: Math.max(stretch.fromMs, stretch.toMs) }));
}

function picture(stretches: readonly Stretch[], width: number, paint: Paint): string {
  const startMs = stretches[0]?.fromMs ?? 0;
  const endMs = stretches.at(-1)?.toMs ?? 0;
  if (endMs <= startMs) return '';
  const columnMs = (endMs - startMs) / width;
  let bar = '';
  for (let column = 0; column < width; column += 1) {
    const fromMs = startMs + column * columnMs;
    bar += paintLook(lookOfColumn(stretches, fromMs, fromMs + columnMs), paint);
  }
  const total = (look: Look) =>
    stretches
      .filter(({ phase }) => lookOf(phase) === look)
      .reduce((sumMs, { fromMs, toMs }) => sumMs + toMs - fromMs, 0);
  const legend = LOOKS.filter((look) => total(look) > 0)
    .map((look) => `${paintLook(look, paint)} ${look.name} ${formatDuration(total(look))}`)
    .join('   ');
  const from = new Date(startMs).toISOString().slice(0, 19);
  const to = new Date(endMs).toISOString().slice(0, 19);
  const scale = `${from}Z${' '.repeat(Math.max(2, width - from.length - to.length - 2))}${to}Z`;
  return [bar, paint.dim(scale), legend].join('\n');
}

/** What took most of the column's time. */
function lookOfColumn(stretches: readonly Stretch[], fromMs: number, toMs: number): Look {
  const share = (look: Look) =>
    stretches
      .filter(({ phase }) => lookOf(phase) === look)
      .reduce((sum, each) => sum + Math.max(0, Math.min(each.toMs, toMs) - Math.max(each.fromMs, fromMs)), 0);
  return LOOKS.reduce((most, look) => (share(look) > share(most) ? look : most), LOOKS[0] as Look);
}

function lookOf(phase: Phase): Look | undefined {
  return LOOKS.find(({ of }) => (of as readonly Phase[]).includes(phase));
}

function paintLook({ glyph, name }: Look, paint: Paint): string {
  if (name === 'running') return paint.green(glyph);
  return name === 'between' ? paint.yellow(glyph) : paint.dim(glyph);
}

function list(
  events: readonly JobEvent[],
  stretches: readonly Stretch[],
  columns: number,
  paint: Paint,
): string {
  const durations = new Map(
    stretches.map(({ fromMs, toMs, phase }) => [`${phase}@${fromMs}`, toMs - fromMs]),
  );
  const rows = events.map(({ at, event, phase, cause, checkpoint }) => {
    const durationMs = event === phase ? (durations.get(`${phase}@${Date.parse(at)}`) ?? 0) : 0;
    return [
      `${at.slice(0, 19)}Z`,
      event === phase ? paintPhase(phase, paint) : paint.dim(`· ${event}`),
      durationMs >= 1000 ? formatDuration(durationMs) : '',
      checkpoint?.step == null ? '' : `step ${checkpoint.step}`,
      oneLine(cause),
    ];
  });
  const fixed = 20 + 2 + 17 + 2 + 8 + 2 + 10 + 2;
  return table(rows.map((row) => row.with(4, truncate(row[4] ?? '', Math.max(20, columns - fixed)))));
}
