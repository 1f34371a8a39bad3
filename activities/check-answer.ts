/** Checks a person's answer against the JSON Schema that the agent gave with its question. */

import { type Schema, Validator } from '@cfworker/json-schema';
import type { CheckAnswerInput, CheckAnswerOutcome } from '../contract/activities.js';

const PROBLEMS_SHOWN = 5;

/** An interpreter, not a compiler: the schema comes from an agent and must not become code. */
export async function checkAnswer({ schema, value }: CheckAnswerInput): Promise<CheckAnswerOutcome> {
  let errors: ReturnType<Validator['validate']>['errors'];
  try {
    ({ errors } = new Validator(schema as Schema, '2020-12', false).validate(value));
  } catch {
    // An agent that gives no proper schema gets what it is given.
    return { problems: [] };
  }
  // Of a chain of errors, the last are the causes of the others.
  const causes = errors.filter(({ keyword }) => !['properties', 'items', '$ref', 'allOf'].includes(keyword));
  const shown = (causes.length > 0 ? causes : errors).slice(0, PROBLEMS_SHOWN);
  return {
    problems: shown.map(({ instanceLocation, error }) => {
      const place = instanceLocation.replace(/^#\/?/, '');
      return place === '' ? error : `${place}: ${error}`;
    }),
  };
}
