/** Tables for people, and the same numbers as JSON. */

import { writeFile } from 'node:fs/promises';

/** The first column to the left, the others to the right. */
export function printTable(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => String(row[column] ?? '').length)));
  for (const row of rows) {
    const cells = row.map((cell, column) =>
      column === 0 ? String(cell).padEnd(widths[0]) : String(cell ?? '').padStart(widths[column]),
    );
    console.log(cells.join('  ').trimEnd());
  }
}

/** Three digits that matter. */
export function shown(number) {
  if (number === undefined || number === null) return '–';
  return number.toFixed(number < 1 ? 2 : number < 10 ? 1 : 0);
}

/** Milliseconds or whatever else, as `p50 / p95`. */
export function shownSummary(summary) {
  return summary === undefined ? '–' : `${shown(summary.p50)} / ${shown(summary.p95)}`;
}

export async function writeJson(file, report) {
  if (file !== undefined) await writeFile(file, `${JSON.stringify(report, null, 2)}\n`);
}

/** On a terminal only, in one line that the next one replaces; an empty one at the end. */
export function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${text}`);
}
