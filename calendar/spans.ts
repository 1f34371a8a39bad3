/** Spans of time that become one, and what lies between them. Everything is ordered by start, and lazy. */

import type { Span } from './occurrences.js';

/** Spans of several sources in one order. */
export function* inOrder(sources: readonly Iterable<Span>[]): Generator<Span> {
  const iterators = sources.map((source) => source[Symbol.iterator]());
  const heads = iterators.map((iterator) => iterator.next());
  for (;;) {
    let earliest = 0;
    let earliestMs = Number.POSITIVE_INFINITY;
    for (let index = 0; index < heads.length; index += 1) {
      const head = heads[index] as IteratorResult<Span>;
      if (head.done || head.value.startMs >= earliestMs) continue;
      earliest = index;
      earliestMs = head.value.startMs;
    }
    const head = heads[earliest];
    if (head === undefined || head.done) return;
    yield head.value;
    heads[earliest] = (iterators[earliest] as Iterator<Span>).next();
  }
}

/** Overlapping and touching spans become one. */
export function* merged(spans: Iterable<Span>): Generator<Span> {
  let open: Span | undefined;
  for (const span of spans) {
    if (open === undefined) {
      open = span;
    } else if (span.startMs > open.endMs) {
      yield open;
      open = span;
    } else {
      open = {
        startMs: open.startMs,
        endMs: Math.max(open.endMs, span.endMs),
        reasons: joined(open.reasons, span.reasons),
        timezone: open.timezone,
      };
    }
  }
  if (open !== undefined) yield open;
}

/** What lies between merged spans: from `sinceMs` (or the end of a span before it), and without an end after the last one. */
export function* between(
  spans: Iterable<Span>,
  sinceMs: number,
  { reasons, timezone }: Pick<Span, 'reasons' | 'timezone'>,
): Generator<Span> {
  let startMs = sinceMs;
  let before = timezone;
  let isFirst = true;
  for (const span of spans) {
    if (!isFirst || span.startMs > startMs) {
      yield { startMs, endMs: span.startMs, reasons, timezone: before };
    }
    isFirst = false;
    startMs = span.endMs;
    before = span.timezone;
  }
  yield { startMs, endMs: Number.POSITIVE_INFINITY, reasons, timezone: before };
}

/** Mostly there is nothing new: a long pause is made of many spans of the same window. */
function joined(reasons: readonly string[], more: readonly string[]): readonly string[] {
  const added = more.filter((reason) => !reasons.includes(reason));
  return added.length === 0 ? reasons : [...reasons, ...added];
}
