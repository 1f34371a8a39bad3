import { expect, it } from 'vitest';
import { checkAnswer } from '../../activities/check-answer.js';

const schema = {
  type: 'object',
  properties: { approve: { type: 'boolean' }, count: { type: 'integer', minimum: 1 } },
  required: ['approve'],
  additionalProperties: false,
};

it.each([
  [{ approve: true }, []],
  [{ approve: true, count: 3 }, []],
  [{ approve: 'yes' }, ['approve']],
  [{ approve: true, count: 0 }, ['count']],
  [{}, ['approve']],
  [{ approve: true, other: 1 }, ['other']],
  ['text', ['object']],
  [null, ['object']],
])('of %j it says what is wrong, and where', async (value, words) => {
  const { problems } = await checkAnswer({ schema, value });
  expect(problems.length > 0).toBe(words.length > 0);
  for (const word of words) expect(problems.join('\n')).toContain(word);
});

it('takes any answer where the agent gave no proper schema', async () => {
  for (const broken of [{ type: 'no-such-type', $ref: '#/nowhere' }, { $ref: 'https://example.com/x' }]) {
    expect((await checkAnswer({ schema: broken, value: 1 })).problems).toEqual([]);
  }
});
