/** Search attributes of a dev server. Its command line registers them on a new database only. */

import type { Connection } from '@temporalio/client';

/** Numbers of `temporal.api.enums.v1.IndexedValueType`. */
const VALUE_TYPES = { Text: 1, Keyword: 2, Int: 3, Double: 4, Bool: 5, Datetime: 6, KeywordList: 7 } as const;

type TypeName = keyof typeof VALUE_TYPES;

export type ValueTypes = Readonly<Record<string, TypeName>>;

/** The database has an attribute of that name with another type, which Temporal cannot change. */
export class SearchAttributeConflictError extends Error {
  override readonly name = 'SearchAttributeConflictError';
}

/** @throws Error that names the attribute whose type Temporal does not have. */
export function asValueTypes(wanted: Readonly<Record<string, string>>): ValueTypes {
  for (const [name, type] of Object.entries(wanted)) {
    if (Object.hasOwn(VALUE_TYPES, type)) continue;
    const known = Object.keys(VALUE_TYPES).join(', ');
    throw new Error(
      `Search attribute ${name} has the type ${type}, which Temporal does not know. Use one of ${known}.`,
    );
  }
  return wanted as ValueTypes;
}

/** @throws SearchAttributeConflictError */
export async function registerMissing(
  connection: Connection,
  namespace: string,
  wanted: ValueTypes,
): Promise<void> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const missing: Record<string, number> = {};
  for (const [name, type] of Object.entries(wanted)) {
    const known = customAttributes?.[name];
    if (known === undefined) {
      missing[name] = VALUE_TYPES[type];
    } else if (known !== VALUE_TYPES[type]) {
      throw new SearchAttributeConflictError(
        `Search attribute ${name} is ${nameOf(known)} in its database, and ${type} is wanted. Rename the attribute, or delete the database file.`,
      );
    }
  }
  if (Object.keys(missing).length === 0) return;
  await connection.operatorService.addSearchAttributes({ namespace, searchAttributes: missing });
}

function nameOf(number: number): string {
  return Object.entries(VALUE_TYPES).find(([, value]) => value === number)?.[0] ?? `of type ${number}`;
}
