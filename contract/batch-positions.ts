/** Sets of positions as short texts such as `3,7-12`, so that thousands of them fit into a payload. */

/** @param positions in any order, each once. */
export function formatPositions(positions: Iterable<number>): string {
  const sorted = [...positions].sort((a, b) => a - b);
  const ranges: string[] = [];
  for (let first = 0; first < sorted.length; ) {
    let last = first;
    while (sorted[last + 1] === (sorted[last] as number) + 1) last += 1;
    ranges.push(first === last ? `${sorted[first]}` : `${sorted[first]}-${sorted[last]}`);
    first = last + 1;
  }
  return ranges.join(',');
}

/** @returns ascending. */
export function parsePositions(text: string): number[] {
  if (text === '') return [];
  return text.split(',').flatMap((range) => {
    const [first, last = first] = range.split('-').map(Number) as [number, number?];
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}
