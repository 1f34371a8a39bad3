import { describe, expect, it } from 'vitest';
import type { AgentBatchInput, BatchPolicy, EndsReport } from '../../contract/batch.js';
import { SeenItems } from '../../contract/batch-files.js';
import { formatPositions, parsePositions } from '../../contract/batch-positions.js';
import { expandTemplate } from '../../contract/batch-template.js';
import type { ErrorCode } from '../../contract/errors.js';
import { countEnds, endsPerSecond, newPace, runClock } from '../../workflows/agent-batch/pace.js';
import {
  applyEnds,
  applyRunning,
  isStopped,
  startable,
  trialInMs,
} from '../../workflows/agent-batch/rules.js';
import { carry, newBatchState, restore } from '../../workflows/agent-batch/state.js';

const T0 = '2026-12-01T00:00:00.000Z';
const at = (seconds: number) => new Date(Date.parse(T0) + seconds * 1000).toISOString();
const round = { batchId: 'b', number: 1, folders: ['f'], total: 1000 };

function batch(policy: Partial<BatchPolicy> = {}) {
  const input: AgentBatchInput = {
    round,
    completedBefore: 0,
    policy: { concurrency: 100, ratePerSecond: null, stopAfter: null, ...policy },
    priority: 4,
  };
  const state = newBatchState(input, T0);
  const start = (count: number) => {
    for (let index = 0; index < count; index += 1) state.inFlight.add(state.next + index);
    state.next += count;
  };
  return { state, start };
}

const hours = { running: 0, paused: 0, provisioning: 0, wasted: 0 };
const completed = (positions: string): EndsReport => ({
  completed: positions,
  cancelled: '',
  failed: [],
  hours,
  sandboxes: 0,
});
const failed = (positions: string, code: ErrorCode): EndsReport => ({
  ...completed(''),
  failed: [{ code, positions, example: { item: 'i', message: 'why' } }],
});

describe('the window', () => {
  it('opens as a whole only when a job has run', () => {
    const { state, start } = batch();
    expect(startable(state, round, T0)).toBe(10);
    start(10);
    expect(startable(state, round, T0)).toBe(0);
    applyRunning(state, [...state.inFlight]);
    expect(startable(state, round, T0)).toBe(90);
  });

  it('frees one place for an end that is told twice', () => {
    const { state, start } = batch({ concurrency: 5 });
    start(5);
    applyEnds(state, completed('2'), T0);
    applyEnds(state, completed('2'), T0);
    expect(state.completed).toBe(1);
    expect(startable(state, round, T0)).toBe(1);
  });

  it('takes small chunks where starts are to be slow', () => {
    const { state } = batch({ ratePerSecond: 0.5, concurrency: 100 });
    state.hasProof = true;
    expect(startable(state, round, T0)).toBe(2);
  });

  it('survives a new run', () => {
    const { state, start } = batch();
    start(300);
    applyEnds(state, completed('0-98,100-250'), T0);
    const again = restore(JSON.parse(JSON.stringify(carry(state))));
    expect([...again.inFlight]).toEqual([...state.inFlight]);
    expect(again.completed).toBe(250);
  });
});

describe('the end of all starts', () => {
  it.each([
    [{ failures: 3 }, 3],
    [{ percent: 1 }, 10],
    [{ percent: 0.01 }, 1],
  ])('comes with %j after %i failures', (stopAfter, failures) => {
    const { state, start } = batch({ stopAfter });
    start(50);
    applyEnds(
      state,
      failed(formatPositions(Array.from({ length: failures - 1 }, (_, i) => i)), 'AGENT_FAILED'),
      T0,
    );
    expect(isStopped(state, round.total)).toBe(false);
    applyEnds(state, failed(`${failures - 1}`, 'AGENT_FAILED'), T0);
    expect(isStopped(state, round.total)).toBe(true);
    expect(startable(state, round, T0)).toBe(0);
  });
});

describe('the breaker', () => {
  it('opens after ten failures at the start of one cause, tries single jobs ever more rarely, and closes', () => {
    const { state, start } = batch();
    start(10);
    applyEnds(state, failed('0-9', 'SANDBOX_START_FAILED'), T0);
    expect(state.breaker).toMatchObject({ code: 'SANDBOX_START_FAILED', failures: 10 });
    expect(startable(state, round, at(59))).toBe(0);
    expect(trialInMs(state, round.total, at(50))).toBe(10_000);
    expect(startable(state, round, at(60))).toBe(1);
    start(1);
    if (state.breaker !== null) state.breaker.trial = 10;
    expect(startable(state, round, at(61))).toBe(0);
    applyEnds(state, failed('10', 'SANDBOX_START_FAILED'), at(70));
    expect(trialInMs(state, round.total, at(70))).toBe(120_000);
    start(1);
    if (state.breaker !== null) state.breaker.trial = 11;
    applyRunning(state, [11]);
    expect(state.breaker).toBeNull();
    expect(startable(state, round, at(200))).toBeGreaterThan(1);
  });

  it('stays closed for failures of agents, for mixed causes, and where others succeed', () => {
    const { state, start } = batch();
    start(60);
    applyEnds(state, failed('0-19', 'AGENT_FAILED'), T0);
    applyEnds(state, failed('20-28', 'SANDBOX_REJECTED'), T0);
    applyEnds(state, failed('29', 'SANDBOX_START_FAILED'), T0);
    applyEnds(state, completed('30'), T0);
    applyEnds(state, failed('31-39', 'SANDBOX_REJECTED'), T0);
    expect(state.breaker).toBeNull();
    expect(state.causes.map(({ code, count }) => [code, count])).toContainEqual(['SANDBOX_REJECTED', 18]);
  });
});

describe('the pace', () => {
  it('does not count a pause', () => {
    let pace = newPace(T0);
    pace = countEnds(pace, 60, at(60));
    expect(endsPerSecond(pace, at(60))).toBe(1);
    pace = runClock(pace, false, at(60));
    expect(endsPerSecond(pace, at(3600))).toBe(1);
    pace = runClock(pace, true, at(3600));
    pace = countEnds(pace, 60, at(3660));
    expect(endsPerSecond(pace, at(3660))).toBe(1);
    expect(endsPerSecond(newPace(T0), at(100))).toBeNull();
  });
});

describe('a template', () => {
  const item = { id: 'a', n: 3, on: true, deep: { list: ['x', { y: 1 }] }, text: '$& {{item.id}}' };

  it('keeps types where a field is nothing but a placeholder, and writes them out elsewhere', () => {
    expect(
      expandTemplate(
        {
          checkpoint: { port: '{{ item.n }}', every: '{{item.n}}s', on: '{{item.on}}' },
          sandbox: {
            env: { N: '{{item.n}}', DEEP: '{{item.deep}}' },
            entrypoint: ['{{item.n}}'],
            list: '{{item.deep.list.1}}',
          },
        },
        item,
      ),
    ).toEqual({
      ok: true,
      value: {
        checkpoint: { port: 3, every: '3s', on: true },
        sandbox: {
          env: { N: '3', DEEP: '{"list":["x",{"y":1}]}' },
          entrypoint: ['3'],
          list: { y: 1 },
        },
      },
    });
  });

  it('does not look for placeholders in items, nor touches other braces', () => {
    expect(expandTemplate({ a: 'say {{item.text}}', b: '{{.Values.x}} {{ items.id }}' }, item)).toEqual({
      ok: true,
      value: { a: 'say $& {{item.id}}', b: '{{.Values.x}} {{ items.id }}' },
    });
  });

  it('names every placeholder without a value', () => {
    expect(expandTemplate({ a: ['{{item.x}}'], b: '{{item.n.y}}', c: '{{item.constructor}}' }, item)).toEqual(
      {
        ok: false,
        problems: [
          { path: 'a[0]', message: 'the item has no field "x"' },
          { path: 'b', message: 'the item has no field "n.y"' },
          { path: 'c', message: 'the item has no field "constructor"' },
        ],
      },
    );
  });
});

describe('sets of positions', () => {
  it('are short, and the same when read again', () => {
    expect(formatPositions([5, 3, 7, 8, 9, 0])).toBe('0,3,5,7-9');
    expect(parsePositions('0,3,5,7-9')).toEqual([0, 3, 5, 7, 8, 9]);
    expect(parsePositions(formatPositions([]))).toEqual([]);
  });

  it('are remembered at a bit each', () => {
    const seen = new SeenItems();
    expect([seen.add(0), seen.add(1_000_000), seen.add(1_000_000), seen.has(999_999), seen.has(0)]).toEqual([
      true,
      true,
      false,
      false,
      true,
    ]);
  });
});
