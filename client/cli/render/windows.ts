/** The pauses that windows make, one a line. Pure. */

import type { PausePreview, ZoneData } from '../../../calendar/index.js';
import type { Paint } from '../context.js';
import { table } from './text.js';

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/** With whose zone data they were computed: that of another release may say otherwise. */
export function renderPauses(pauses: readonly PausePreview[], zoneData: ZoneData, paint: Paint): string {
  const zones = new Set(pauses.map(({ timezone }) => timezone));
  const [onlyZone] = zones.size === 1 ? zones : [];
  const header = ['FROM', 'TO', ...(onlyZone === undefined ? ['TIME ZONE'] : []), 'UTC', 'HOURS', ''];
  const rows = pauses.map((pause) => [
    local(pause.localStart),
    local(pause.localEnd),
    ...(onlyZone === undefined ? [pause.timezone] : []),
    `${utc(pause.start)}..${utc(pause.end)}`,
    String(pause.hours),
    pause.note === null ? '' : paint.yellow(pause.note),
  ]);
  return [
    table([header.map((title) => paint.dim(title)), ...rows]),
    '',
    ...(onlyZone === undefined ? [] : [`Local times are those of ${onlyZone}.`]),
    `Zone data: IANA ${zoneData.version} (${zoneData.source}).`,
  ].join('\n');
}

/** `Sat 2026-10-24 22:00 +02:00`. */
function local(iso: string): string {
  const date = iso.slice(0, 10);
  const weekday = WEEKDAYS[new Date(`${date}T00:00:00Z`).getUTCDay()];
  return `${weekday} ${date} ${iso.slice(11, 16)} ${iso.slice(19)}`;
}

/** Windows are kept to the minute, and the clocks of no zone have been changed within one since long. */
function utc(iso: string): string {
  return `${iso.slice(0, 16)}Z`;
}
