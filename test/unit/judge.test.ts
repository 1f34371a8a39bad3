import { describe, expect, it } from 'vitest';
import { judge, type Knowledge, newKnowledge, type Observation } from '../../activities/watch/judge.js';
import { parseCheckpoint } from '../../activities/watch/parse-checkpoint.js';

const START = Date.parse('2026-12-01T10:00:00.000Z');
const checkpoint = { port: 8000, path: 'state.json', everyMs: 5000, stallAfterMs: 600_000 };

function at(seconds: number): string {
  return new Date(START + seconds * 1000).toISOString();
}

function document(fields: Record<string, unknown>, seconds = 0): Observation {
  const parsed = parseCheckpoint(200, Buffer.from(JSON.stringify(fields)), at(seconds));
  if (parsed.kind !== 'checkpoint') throw new Error(parsed.why);
  return parsed;
}

function state(name: string): Observation {
  return { kind: 'silent', why: 'nobody listens on port 8000', state: name, message: name };
}

const unreachable: Observation = { kind: 'unreachable', why: '503 from a load balancer', retryAfterMs: null };
const absent: Observation = { kind: 'absent' };

/** Feeds the looks in their order, and gives the last judgement. */
function judgeAll(
  mode: 'starting' | 'running',
  looks: readonly (readonly [seconds: number, Observation])[],
  knownWait: string | null = null,
) {
  let knowledge: Knowledge = newKnowledge(at(0));
  let judgement: ReturnType<typeof judge>['judgement'] = { kind: 'go-on' };
  for (const [seconds, seen] of looks) {
    expect(judgement.kind, `before the look at ${seconds} s`).toBe('go-on');
    ({ knowledge, judgement } = judge(knowledge, seen, { mode, checkpoint, knownWait }, at(seconds)));
  }
  return { ...judgement, cursor: knowledge.cursor };
}

describe('the judgement of a watch', () => {
  it('is ready at the first good answer of a starting agent', () => {
    const judged = judgeAll('starting', [
      [0, state('Running')],
      [1, { kind: 'unreadable', why: 'the agent answers 404' }],
      [2, document({ status: 'running', step: 0 })],
    ]);
    expect(judged).toMatchObject({ kind: 'ready', cursor: { verdict: 'ready' } });
  });

  it('takes "nobody listens" for a start, not for a death, as long as the start may take', () => {
    const judged = judgeAll('starting', [
      [0, state('Running')],
      [45, state('Running')],
      [590, state('Running')],
    ]);
    expect(judged).toMatchObject({ kind: 'go-on', cursor: { verdict: 'starting' } });
  });

  it('keeps the last good checkpoint through torn, empty and HTML reads', () => {
    const judged = judgeAll('running', [
      [0, document({ step: 40 })],
      [5, { kind: 'unreadable', why: 'the checkpoint is empty' }],
      [10, { kind: 'unreadable', why: 'the checkpoint is not whole JSON' }],
    ]);
    expect(judged).toMatchObject({
      kind: 'go-on',
      cursor: { checkpoint: { step: 40 }, unreadableReads: 2, verdict: 'app-not-ready' },
    });
  });

  it('counts unreadable reads only since the last good one', () => {
    const judged = judgeAll('running', [
      [0, { kind: 'unreadable', why: 'the checkpoint is empty' }],
      [5, document({ step: 41 })],
    ]);
    expect(judged).toMatchObject({ cursor: { unreadableReads: 0, verdict: 'ready' } });
  });

  it('never takes unreachable for dead, however long it lasts', () => {
    const judged = judgeAll('running', [
      [0, document({ step: 1 })],
      [5, unreachable],
      [86_400, unreachable],
      [2 * 86_400, unreachable],
    ]);
    expect(judged).toMatchObject({ kind: 'go-on', cursor: { verdict: 'unreachable', verdictSince: at(5) } });
  });

  it('does not hold the time of an outage against the agent', () => {
    const judged = judgeAll('running', [
      [0, document({ step: 1 })],
      [5, unreachable],
      [3600, unreachable],
      [3605, document({ step: 1 })],
      [4199, document({ step: 1 })],
    ]);
    expect(judged.kind).toBe('go-on');
  });

  it('believes that a sandbox is gone only when the API has said so twice, some seconds apart', () => {
    expect(judgeAll('running', [[0, absent]]).kind).toBe('go-on');
    expect(
      judgeAll('running', [
        [0, absent],
        [1, absent],
      ]).kind,
    ).toBe('go-on');
    expect(
      judgeAll('running', [
        [0, absent],
        [3, absent],
      ]).kind,
    ).toBe('lost');
  });

  it('forgets a doubt that is contradicted', () => {
    const judged = judgeAll('running', [
      [0, absent],
      [3, document({ step: 1 })],
      [6, absent],
    ]);
    expect(judged.kind).toBe('go-on');
  });

  it.each(['Failed', 'Terminated'])('believes that an agent has exited when it is %s twice', (name) => {
    expect(judgeAll('running', [[0, state(name)]]).kind).toBe('go-on');
    expect(
      judgeAll('running', [
        [0, state(name)],
        [3, state(name)],
      ]).kind,
    ).toBe('exited');
  });

  it.each(['Pending', 'Resuming', 'Stopping', 'Allocated', 'SomethingNew'])(
    'waits while it is %s',
    (name) => {
      expect(
        judgeAll('running', [
          [0, state(name)],
          [86_400, state(name)],
        ]).kind,
      ).toBe('go-on');
    },
  );

  it('sees that somebody else has paused it', () => {
    expect(judgeAll('running', [[0, state('Paused')]])).toMatchObject({
      kind: 'paused-outside',
      cursor: { verdict: 'paused' },
    });
  });

  it('calls an agent stalled whose checkpoint does not change', () => {
    const judged = judgeAll('running', [
      [0, document({ step: 1 })],
      [300, document({ step: 2 })],
      [899, document({ step: 2 })],
      [901, document({ step: 2 })],
    ]);
    expect(judged).toMatchObject({ kind: 'stalled', why: 'unchanged' });
  });

  it('does not call an agent stalled that sleeps, or that waits for what is known', () => {
    const sleeping = document({ status: 'sleeping' });
    const asking = document({ status: 'waiting', question: { id: 'q1', text: 'Go on?' } });
    const knownWait = asking.kind === 'checkpoint' ? asking.summary.waitKey : undefined;
    for (const seen of [sleeping, asking]) {
      const looks = [0, 86_400].map((seconds) => [seconds, seen] as const);
      expect(judgeAll('running', looks, seen === asking ? knownWait : null).kind).toBe('go-on');
    }
  });

  it('tells a question that is not known yet, with its text and schema', () => {
    const question = { id: 'q1', text: 'Go on?', schema: { type: 'boolean' } };
    const judged = judgeAll('running', [[0, document({ status: 'waiting', question })]]);
    expect(judged).toMatchObject({ kind: 'agent-waits', question });
  });

  it('knows the same question again, and the same one asked anew after an answer as another', () => {
    const key = (fields: Record<string, unknown>) => {
      const seen = document({ status: 'waiting', question: { text: 'Go on?' }, ...fields });
      return seen.kind === 'checkpoint' ? seen.summary.waitKey : null;
    };
    expect(key({ step: 1 })).toBe(key({ step: 2, message: 'still waiting' }));
    expect(key({ inputId: 'a' })).not.toBe(key({}));
    expect(key({ question: { text: 'Stop?' } })).not.toBe(key({}));
  });

  it.each([
    ['an hour', 3600, 'agent-sleeps'],
    ['less than is worth a pause', 20, 'go-on'],
    ['a time that is over', -5, 'go-on'],
  ] as const)('tells an agent that sleeps for %s as %s s', (_, seconds, kind) => {
    const seen = document({ status: 'sleeping', wakeAt: at(seconds) });
    expect(judgeAll('running', [[0, seen]]).kind).toBe(kind);
  });

  it('tells when an agent no longer waits', () => {
    const works = document({ status: 'running', step: 3 });
    expect(judgeAll('running', [[0, works]], 'input:abc').kind).toBe('agent-works');
    const awake = document({ status: 'sleeping', wakeAt: at(-1) });
    expect(judgeAll('running', [[0, awake]], `sleep:${at(-1)}`).kind).toBe('agent-works');
  });

  it('calls it unreadable when an agent never publishes a checkpoint', () => {
    const seen: Observation = { kind: 'unreadable', why: 'the answer is HTML or XML, not JSON' };
    expect(
      judgeAll('starting', [
        [0, seen],
        [601, seen],
      ]),
    ).toMatchObject({ kind: 'stalled', why: 'unreadable' });
  });

  it('gives an agent that never answers a bounded time', () => {
    expect(
      judgeAll('starting', [
        [0, state('Running')],
        [601, state('Running')],
      ]),
    ).toMatchObject({
      kind: 'stalled',
      why: 'never-ready',
      message: expect.stringContaining('port 8000'),
    });
  });

  it('ends with the word of the agent, also at its first answer', () => {
    expect(judgeAll('starting', [[0, document({ status: 'done', result: 7 })]])).toMatchObject({
      kind: 'done',
      result: 7,
    });
    expect(
      judgeAll('running', [[0, document({ status: 'failed', error: { message: 'no' } })]]),
    ).toMatchObject({
      kind: 'agent-failed',
      message: 'no',
    });
  });
});
