/** Puts an item into a job template: `{{item}}`, `{{item.field}}`, `{{item.list.0}}`. Pure. */

import type { SpecProblem } from './problems.schema.js';

const PLACEHOLDER = /\{\{\s*item((?:\.[A-Za-z0-9_-]+)*)\s*\}\}/g;
const WHOLE = new RegExp(`^${PLACEHOLDER.source}$`);

/** What an agent gets as text anyway, so that the number 3 becomes "3" there and keeps its type elsewhere. */
const TEXT_FIELDS = /^sandbox\.(env\.[^.]+|entrypoint\[\d+\]|files\[\d+\]\.content)$/;

export type Expanded =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problems: readonly SpecProblem[] };

/**
 * The template with every placeholder replaced. A field that is nothing but a placeholder takes the item's value
 * with its type; within other text, and in what an agent gets as text, values are written out, objects as JSON.
 * @returns a problem for every placeholder that names nothing in the item, at its place in the template.
 */
export function expandTemplate(template: unknown, item: unknown): Expanded {
  const problems: SpecProblem[] = [];
  const value = expand(template, '');
  return problems.length === 0 ? { ok: true, value } : { ok: false, problems };

  function expand(node: unknown, path: string): unknown {
    if (typeof node === 'string') return expandText(node, path);
    if (Array.isArray(node)) return node.map((entry, index) => expand(entry, `${path}[${index}]`));
    if (typeof node !== 'object' || node === null) return node;
    return Object.fromEntries(
      Object.entries(node).map(([key, entry]) => [key, expand(entry, path === '' ? key : `${path}.${key}`)]),
    );
  }

  function expandText(text: string, path: string): unknown {
    const whole = WHOLE.exec(text);
    if (whole !== null && !TEXT_FIELDS.test(path)) return lookUp(whole[1] ?? '', path);
    // A function, since `$&` in an item means nothing but itself.
    return text.replace(PLACEHOLDER, (_, fields: string) => asText(lookUp(fields, path)));
  }

  function lookUp(fields: string, path: string): unknown {
    let value: unknown = item;
    for (const name of fields.split('.').slice(1)) {
      const isObject = typeof value === 'object' && value !== null;
      if (!isObject || !Object.hasOwn(value as object, name)) {
        problems.push({ path, message: `the item has no field "${fields.slice(1)}"` });
        return '';
      }
      value = (value as Record<string, unknown>)[name];
    }
    return value;
  }
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
