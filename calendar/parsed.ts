/** What parsing gives, and what its hints are made of. */

export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  /** In words that follow the name of the field. */
  | { readonly ok: false; readonly message: string };

export function failed(message: string): { readonly ok: false; readonly message: string } {
  return { ok: false, message };
}

/** How many letters must be changed, added, left out or swapped with their neighbour. */
export function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const isSame = a[row - 1] === b[column - 1];
      let least = Math.min(
        (previous[column] as number) + 1,
        (current[column - 1] as number) + 1,
        (previous[column - 1] as number) + (isSame ? 0 : 1),
      );
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        least = Math.min(least, (beforePrevious[column - 2] as number) + 1);
      }
      current.push(least);
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[b.length] as number;
}
