/** Names of zones as people write them. */

import { editDistance, type Parsed } from './parsed.js';
import { zoneNames } from './zone-data.js';

const MAX_HINTS = 3;

let properNames: ReadonlyMap<string, string> | undefined;

/** The IANA name in its proper spelling; links are names, too. */
export function parseZoneName(text: string): Parsed<string> {
  properNames ??= new Map(zoneNames().map((name) => [name.toLowerCase(), name]));
  const name = properNames.get(text.toLowerCase());
  if (name !== undefined) return { ok: true, value: name };
  return { ok: false, message: `"${text}" is not a time zone; ${remedy(text)}` };
}

function remedy(text: string): string {
  if (text.trim() === '') return 'write an IANA name such as Europe/Berlin';
  const offset = /^(?:UTC|GMT|Z)?\s*([+-])(\d{1,2})(?::?(\d\d))?$/i.exec(text.trim());
  if (offset !== null) return remedyForOffset(offset[1] as string, Number(offset[2]), Number(offset[3] ?? 0));
  const names = nearestZones(text);
  if (names.length === 0) return 'write an IANA name such as Europe/Berlin';
  return `did you mean ${names.join(' or ')}?`;
}

function remedyForOffset(sign: string, hours: number, minutes: number): string {
  const place = 'an offset does not know when clocks change: write a place such as Europe/Berlin';
  const isNamed = minutes === 0 && hours > 0 && hours <= (sign === '+' ? 14 : 12);
  // POSIX counts these the other way round.
  const fixed = `Etc/GMT${sign === '+' ? '-' : '+'}${hours}`;
  return isNamed ? `${place}, or ${fixed}, which is always UTC${sign}${hours}` : place;
}

/** Valid names that somebody may have meant, the likeliest first. */
function nearestZones(text: string): string[] {
  const wanted = text.toLowerCase().replace(/[\s-]+/g, '_');
  const wantedPlace = placeOf(wanted);
  const scored = zoneNames().map((name) => {
    const known = name.toLowerCase();
    const inWhole = editDistance(wanted, known);
    // People leave out the continent, or take the wrong one.
    const inPlace = editDistance(wantedPlace, placeOf(known)) + 0.5;
    const score = wantedPlace.length >= 4 ? Math.min(inWhole, inPlace) : inWhole;
    return { name, score, tie: inWhole };
  });
  const best = Math.min(...scored.map(({ score }) => score));
  // Three letters are mostly an abbreviation, and its neighbours mean something else.
  const most = wantedPlace.length >= 4 ? wantedPlace.length / 3 : 0;
  if (best > most) return [];
  return scored
    .filter(({ score }) => score < best + 0.5)
    .sort((a, b) => a.score - b.score || a.tie - b.tie || a.name.localeCompare(b.name, 'en'))
    .slice(0, MAX_HINTS)
    .map(({ name }) => name);
}

function placeOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}
