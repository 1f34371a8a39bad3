/** Reads a list over all of its pages, on deployments that say more or less about them. */

import { parsePage } from './answers.js';
import type { RawAnswer } from './transport.js';
import type { Sandbox } from './types.js';

/**
 * The first is the largest page that servers give. Items carry whole entrypoints, files for the workspace
 * included, so that a page may be too large to be read: then the list is read again in smaller ones.
 */
const PAGE_SIZES: readonly number[] = [200, 20, 4];
/** Against a server that never says that the end is reached. */
const MAX_PAGES = 5000;

/**
 * @param readPage gives a 2xx answer.
 * @param fail throws what is to be thrown for an answer that is no page.
 * @returns each sandbox once: while sandboxes are made, a list that is sorted by age shows some on two pages.
 */
export async function listAll(
  readPage: (page: number, pageSize: number) => Promise<RawAnswer>,
  fail: (answer: RawAnswer) => never,
  [pageSize = 1, ...smaller] = PAGE_SIZES,
): Promise<Sandbox[]> {
  const found = new Map<string, Sandbox>();
  for (let number = 1; ; number += 1) {
    const answer = await readPage(number, pageSize);
    if (answer.exceededBytes !== null && smaller.length > 0) return listAll(readPage, fail, smaller);
    const page = parsePage(answer.body) ?? fail(answer);
    const knownBefore = found.size;
    for (const sandbox of page.items) found.set(sandbox.id, sandbox);
    const isShort = page.items.length < (page.pageSize ?? 1);
    // A server that ignores the page number gives the first page for ever.
    const isLast = page.hasNextPage === null ? isShort || found.size === knownBefore : !page.hasNextPage;
    if (isLast) return [...found.values()];
    if (number === MAX_PAGES) fail(answer);
  }
}
