/** What is wrong with a document, in words that people can act on. */

import type { z } from 'zod';

/** One thing that is wrong. `path` is empty for the document as a whole. */
export interface SpecProblem {
  readonly path: string;
  readonly message: string;
}

export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly SpecProblem[] };

/** @param document what it is, e.g. `a job spec`. */
export function problemsOf(issue: z.core.$ZodIssue, document: string): SpecProblem[] {
  const path = formatPath(issue.path);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: formatPath([...issue.path, key]),
      message: `is not a field of ${document}`,
    }));
  }
  // Of the alternatives of a union, the one that got furthest tells what is wrong.
  if (issue.code === 'invalid_union') {
    const deepest = issue.errors
      .flat()
      .filter((inner) => inner.path.length > 0 || inner.code === 'unrecognized_keys');
    if (deepest.length > 0)
      return deepest.flatMap((inner) =>
        problemsOf({ ...inner, path: [...issue.path, ...inner.path] }, document),
      );
  }
  if (issue.code === 'invalid_key') {
    return issue.issues.map((inner) => ({ path, message: inner.message }));
  }
  if (issue.message.includes('received undefined')) return [{ path, message: 'is missing' }];
  return [{ path, message: issue.message.replace(/^Invalid input: /, '') }];
}

function formatPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, part) =>
      typeof part === 'number' ? `${text}[${part}]` : text === '' ? String(part) : `${text}.${String(part)}`,
    '',
  );
}
