/** Reads items one by one from JSON lines, a JSON array or CSV, so that files of any length need little memory. */

import { createReadStream } from 'node:fs';
import { extname } from 'node:path';
import { CsvError, parse as parseCsv } from 'csv-parse';

/** An item with its place in what was submitted, or what is wrong there. */
export type ReadItem =
  | { readonly line: number; readonly value: unknown }
  | { readonly line: number; readonly problem: string };

/** Longest text of an item that is looked at; what an item may have is checked later. */
const TEXT_MAX_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

/** The format is told by the name's ending. Errors of the file system are thrown as they are. */
export function readItemsFile(path: string): AsyncGenerator<ReadItem, void, undefined> | null {
  switch (extname(path).toLowerCase()) {
    case '.jsonl':
    case '.ndjson':
      return readJsonLines(createReadStream(path));
    case '.json':
      return readJsonArray(createReadStream(path));
    case '.csv':
      return readCsv(createReadStream(path));
    default:
      return null;
  }
}

export async function* numbered(values: Iterable<unknown>): AsyncGenerator<ReadItem, void, undefined> {
  let line = 0;
  for (const value of values) {
    line += 1;
    yield { line, value };
  }
}

export async function* readJsonLines(
  bytes: AsyncIterable<Buffer>,
): AsyncGenerator<ReadItem, void, undefined> {
  let line = 0;
  for await (const text of splitLines(bytes)) {
    line += 1;
    if (text === null) yield { line, problem: tooLong() };
    else if (text.trim() !== '') yield parseItem(line, text);
  }
}

/** Each line as text; `null` for one that is too long to be an item, which is never held in memory. */
async function* splitLines(bytes: AsyncIterable<Buffer>): AsyncGenerator<string | null, void, undefined> {
  let parts: Buffer[] = [];
  let sizeBytes = 0;
  const take = (part: Buffer) => {
    sizeBytes += part.length;
    if (sizeBytes <= TEXT_MAX_BYTES) parts.push(part);
  };
  const line = () => {
    const text = sizeBytes <= TEXT_MAX_BYTES ? Buffer.concat(parts).toString('utf8') : null;
    parts = [];
    sizeBytes = 0;
    return text;
  };
  for await (const chunk of bytes) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      take(chunk.subarray(from, at));
      from = at + 1;
      yield line();
    }
    take(chunk.subarray(from));
  }
  if (sizeBytes > 0) yield line();
}

/** Cuts the elements out of the array by brackets and strings; what they are is left to `JSON.parse`. */
export async function* readJsonArray(
  bytes: AsyncIterable<Buffer>,
): AsyncGenerator<ReadItem, void, undefined> {
  const decoder = new TextDecoder();
  let line = 1;
  let depth = 0;
  let isInString = false;
  let isEscaped = false;
  let isOver = false;
  let element = '';
  let elementLine = 1;
  let elements = 0;

  const end = (): ReadItem[] => {
    const text = element;
    element = '';
    elements += 1;
    if (text.length > TEXT_MAX_BYTES) return [{ line: elementLine, problem: tooLong() }];
    return [text.trim() === '' ? { line, problem: 'has no element' } : parseItem(elementLine, text)];
  };

  for await (const chunk of bytes) {
    for (const character of decoder.decode(chunk, { stream: true })) {
      if (character === '\n') line += 1;
      if (depth === 0) {
        if (character.trim() === '' || character === '\ufeff') continue;
        if (character !== '[' || isOver) {
          yield {
            line,
            problem: isOver ? 'goes on after the end of the list' : 'is not a list: it must begin with [',
          };
          return;
        }
        depth = 1;
        continue;
      }
      if (depth === 1 && !isInString && (character === ',' || character === ']')) {
        if (character === ',' || element.trim() !== '' || elements > 0) yield* end();
        if (character === ']') {
          depth = 0;
          isOver = true;
        }
        continue;
      }
      if (element.trim() === '') elementLine = line;
      if (element.length <= TEXT_MAX_BYTES) element += character;
      if (isInString) {
        if (character === '"' && !isEscaped) isInString = false;
        isEscaped = character === '\\' && !isEscaped;
      } else if (character === '"') isInString = true;
      else if (character === '[' || character === '{') depth += 1;
      else if (character === ']' || character === '}') depth -= 1;
    }
  }
  if (!isOver && (depth > 0 || elements > 0)) yield { line, problem: 'the list has no end: a ] is missing' };
}

/** The first line has the names of the fields; all values are text. */
export async function* readCsv(bytes: NodeJS.ReadableStream): AsyncGenerator<ReadItem, void, undefined> {
  const parser = bytes.pipe(
    parseCsv({
      bom: true,
      columns: checkedColumns,
      info: true,
      skip_empty_lines: true,
      max_record_size: TEXT_MAX_BYTES,
    }),
  );
  bytes.on('error', (error) => parser.destroy(error));
  try {
    for await (const { record, info } of parser) yield { line: info.lines, value: record };
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const { lines } = error as unknown as { lines?: number };
    yield { line: lines ?? 1, problem: `is not valid CSV: ${error.message}` };
  }
}

function checkedColumns(names: readonly string[]): string[] {
  const trimmed = names.map((name) => name.trim());
  const twice = trimmed.find((name, index) => trimmed.indexOf(name) !== index);
  if (twice !== undefined) {
    throw new CsvError('CSV_INVALID_COLUMN_MAPPING', [`the column "${twice}" is there twice`], {} as never);
  }
  return trimmed;
}

function parseItem(line: number, text: string): ReadItem {
  try {
    return { line, value: JSON.parse(text.replace(/^\ufeff/, '')) };
  } catch (error) {
    return { line, problem: `is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function tooLong(): string {
  return `is longer than ${TEXT_MAX_BYTES / 1024} KiB`;
}
