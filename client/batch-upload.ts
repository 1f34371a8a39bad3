/** Checks every item of a batch with the job that it makes, and puts them into the store, page by page. */

import { isItemId } from '../contract/batch.schema.js';
import { type BatchItem, ITEMS_PER_PAGE, pageKey, templateKey, toLines } from '../contract/batch-files.js';
import { expandTemplate } from '../contract/batch-template.js';
import type { SpecProblem } from '../contract/problems.schema.js';
import type { Store } from '../store/types.js';
import type { ReadItem } from './batch-items.js';
import { LonghaulError } from './errors.js';
import { checkSpec } from './spec-file.js';

/** Larger things belong into the image or behind an address; the item travels with its job. */
const ITEM_MAX_BYTES = 64 * 1024;
/** Whoever has mended so many looks again. */
const PROBLEMS_SHOWN = 20;

export interface UploadSource {
  /** The job template, with the contents of its files. */
  readonly template: unknown;
  /** Template of the items' IDs; `null`: their field `id`, else their number. */
  readonly itemId: string | null;
  readonly items: AsyncIterable<ReadItem>;
  /** The file that the items are in, for messages; `null` where they are in none. */
  readonly file: string | null;
}

/**
 * @returns how many items there are.
 * @throws LonghaulError SPEC_INVALID with the lines; then nothing is left in the store.
 */
export async function uploadItems(store: Store, folder: string, source: UploadSource): Promise<number> {
  const pages = new PageWriter(store, folder);
  try {
    await checkAndWrite(pages, source);
    await store.put(templateKey(folder), JSON.stringify(source.template));
    return pages.items;
  } catch (error) {
    await pages.remove();
    throw error;
  }
}

async function checkAndWrite(pages: PageWriter, source: UploadSource): Promise<void> {
  const place = (line: number) => `${source.file === null ? 'item' : 'line'} ${line}`;
  const problems: SpecProblem[] = [];
  const lines = new Map<string, number>();
  const report = (line: number, found: readonly SpecProblem[]) => {
    for (const { path, message } of found) {
      problems.push({ path: path === '' ? place(line) : `${place(line)}: ${path}`, message });
    }
  };
  for await (const read of source.items) {
    if (problems.length >= PROBLEMS_SHOWN) {
      problems.push({ path: '', message: 'the items after that were not looked at' });
      break;
    }
    if ('problem' in read) {
      report(read.line, [{ path: '', message: read.problem }]);
      continue;
    }
    const { line, value } = read;
    const id = idOf(value, line, source.itemId);
    if (!id.ok) {
      report(line, id.problems);
      continue;
    }
    const before = lines.get(id.value);
    if (before !== undefined) {
      report(line, [{ path: '', message: `has the ID "${id.value}", like ${place(before)}` }]);
      continue;
    }
    lines.set(id.value, line);
    report(line, await problemsOf(value, source.template));
    if (problems.length === 0) await pages.add({ line, id: id.value, item: value });
  }
  if (problems.length === 0 && lines.size === 0) problems.push({ path: '', message: 'there are no items' });
  if (problems.length > 0) throw refused(problems, source.file);
  await pages.end();
}

type ItemId =
  | { readonly ok: true; readonly value: string }
  | { readonly ok: false; readonly problems: readonly SpecProblem[] };

function idOf(item: unknown, line: number, template: string | null): ItemId {
  const own = typeof item === 'object' && item !== null ? (item as { id?: unknown }).id : undefined;
  const expanded = template === null ? null : expandTemplate({ itemId: template }, item);
  if (expanded !== null && !expanded.ok) return expanded;
  const id = expanded === null ? (own ?? line) : (expanded.value as { itemId: unknown }).itemId;
  const text = typeof id === 'string' || typeof id === 'number' ? String(id) : JSON.stringify(id);
  if (isItemId(text)) return { ok: true, value: text };
  const message = `"${text.slice(0, 100)}" cannot be an item's ID: letters, digits and . _ - (at most 90), beginning with a letter or digit`;
  return { ok: false, problems: [{ path: template === null ? 'id' : 'itemId', message }] };
}

async function problemsOf(item: unknown, template: unknown): Promise<readonly SpecProblem[]> {
  const sizeBytes = Buffer.byteLength(JSON.stringify(item));
  if (sizeBytes > ITEM_MAX_BYTES) {
    const message = `has ${Math.ceil(sizeBytes / 1024)} KiB; an item may have ${ITEM_MAX_BYTES / 1024} KiB, put more into the image or behind a URL`;
    return [{ path: '', message }];
  }
  const expanded = expandTemplate(template, item);
  if (!expanded.ok) return expanded.problems;
  try {
    await checkSpec(expanded.value, '.');
    return [];
  } catch (error) {
    if (error instanceof LonghaulError && error.problems.length > 0) return error.problems;
    throw error;
  }
}

function refused(problems: readonly SpecProblem[], file: string | null): LonghaulError {
  const count = problems.length === 1 ? 'one problem' : `${problems.length} problems`;
  return new LonghaulError('SPEC_INVALID', `The items were refused: ${count}. Nothing was started.`, {
    problems,
    ...(file === null ? {} : { file }),
  });
}

/** Writes items into pages as they come. */
export class PageWriter {
  readonly #store: Store;
  readonly #folder: string;
  #page: BatchItem[] = [];
  #items = 0;

  constructor(store: Store, folder: string) {
    this.#store = store;
    this.#folder = folder;
  }

  get items(): number {
    return this.#items;
  }

  /** Without an index it is the next one. */
  async add(item: Omit<BatchItem, 'index'> & { readonly index?: number }): Promise<void> {
    this.#page.push({ index: this.#items, ...item });
    this.#items += 1;
    if (this.#page.length === ITEMS_PER_PAGE) await this.end();
  }

  async end(): Promise<void> {
    if (this.#page.length === 0) return;
    const number = Math.floor((this.#items - 1) / ITEMS_PER_PAGE);
    await this.#store.put(pageKey(this.#folder, number), toLines(this.#page));
    this.#page = [];
  }

  async remove(): Promise<void> {
    for await (const { key } of this.#store.list(`${this.#folder}/`)) await this.#store.delete(key);
  }
}
