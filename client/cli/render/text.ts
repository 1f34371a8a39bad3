/** Small means of writing for people. Pure. */

import { stripVTControlCharacters } from 'node:util';
import { formatDuration } from '../../../contract/quantities.js';

/**
 * Text from agents and sandboxes, made harmless for a terminal: escape sequences could repaint the screen,
 * and direction marks could make it say something else.
 */
export function printable(text: string): string {
  return stripVTControlCharacters(text).replace(/(?![\n\t])[\p{Cc}\p{Bidi_Control}]/gu, '');
}

/** The same on one line. */
export function oneLine(text: string): string {
  return printable(text.replace(/\s+/g, ' ')).trim();
}

/** `2m 3s` from then to now; clocks of several machines never make it negative. */
export function timeSince(then: string, nowMs: number): string {
  const elapsedMs = nowMs - Date.parse(then);
  return elapsedMs < 1000 ? 'a moment' : formatDuration(elapsedMs);
}

export function ago(then: string, nowMs: number): string {
  return nowMs - Date.parse(then) < 1000 ? 'now' : `${timeSince(then, nowMs)} ago`;
}

export function percent(progress: number): string {
  return `${Math.floor(clamp(progress) * 100)} %`;
}

export function bar(progress: number, width: number): string {
  const full = Math.floor(clamp(progress) * width);
  return '█'.repeat(full) + '░'.repeat(width - full);
}

/** Columns under each other; cells may be coloured. */
export function table(rows: readonly (readonly string[])[], gap = '  '): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, index) => {
      widths[index] = Math.max(widths[index] ?? 0, displayWidth(cell));
    });
  }
  return rows
    .map((row) =>
      row
        .map((cell, index) => cell + ' '.repeat((widths[index] ?? 0) - displayWidth(cell)))
        .join(gap)
        .trimEnd(),
    )
    .join('\n');
}

/** Cut to so many columns; for text without colours. */
export function truncate(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  let cut = '';
  let width = 1;
  for (const character of text) {
    width += characterWidth(character);
    if (width > columns) break;
    cut += character;
  }
  return `${cut}…`;
}

export function indent(text: string, by: string): string {
  return text
    .split('\n')
    .map((line) => by + line)
    .join('\n');
}

function displayWidth(text: string): number {
  let width = 0;
  for (const character of stripVTControlCharacters(text)) width += characterWidth(character);
  return width;
}

/** East Asian wide characters and emoji take two columns; near enough for a table. */
function characterWidth(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (/\p{M}/u.test(character)) return 0;
  const isWide =
    (code >= 0x1100 && code <= 0x115f) ||
    (code >= 0x2e80 && code <= 0xa4cf) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe30 && code <= 0xfe6f) ||
    (code >= 0xff00 && code <= 0xff60) ||
    (code >= 0x1f300 && code <= 0x1faff) ||
    (code >= 0x20000 && code <= 0x3fffd);
  return isWide ? 2 : 1;
}

function clamp(progress: number): number {
  return Math.min(1, Math.max(0, progress));
}
