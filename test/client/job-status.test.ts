import { describe, expect, it } from 'vitest';
import { newJobId, specDigest } from '../../client/job-identity.js';
import { endedStatus, phaseOf, withLiveState } from '../../client/job-status.js';
import { spec } from '../support/spec.js';
import { at, checkpoint, cursor, description, pending, status } from './statuses.js';

describe('the status of an open job', () => {
  it('takes the later of two checkpoints: that of the watch', () => {
    const live = withLiveState(status(), description({ pending: [pending({ cursor: cursor() })] }));
    expect(live.checkpoint?.step).toBe(5);
  });

  it('takes the later of two checkpoints: that of the workflow', () => {
    const old = cursor({ checkpoint: checkpoint(0, at(5)) });
    const live = withLiveState(status(), description({ pending: [pending({ cursor: old })] }));
    expect(live.checkpoint?.step).toBe(1);
  });

  it('shows that the agent has become unreachable although its checkpoint is the same', () => {
    const away = cursor({
      checkpoint: checkpoint(1, at(10)),
      verdict: 'unreachable',
      verdictSince: at(15),
      because: '502',
    });
    const live = withLiveState(status(), description({ pending: [pending({ cursor: away })] }));
    expect(live.verdict).toEqual({ is: 'unreachable', since: at(15), because: '502' });
    expect(live.checkpoint?.step).toBe(1);
  });

  it('does not listen to a watch that was left behind', () => {
    const left = pending({ cursor: cursor(), leftBehind: true });
    const current = pending({ cursor: null });
    expect(withLiveState(status(), description({ pending: [left, current] })).checkpoint?.step).toBe(1);
  });

  it('says what a step fails with that is tried again and again', () => {
    const creating = status({
      phase: 'provisioning',
      waitingFor: { what: 'the sandbox to be created', since: at(0) },
    });
    const tried = pending({ type: 'createSandbox', attempt: 4, lastFailure: 'ECONNREFUSED' });
    expect(withLiveState(creating, description({ pending: [tried] })).waitingFor).toEqual({
      what: 'the sandbox to be created (try 4; the last one: ECONNREFUSED)',
      since: at(0),
    });
  });

  it('leaves a final answer alone', () => {
    const done = status({ phase: 'completed', endedAt: at(30) });
    expect(withLiveState(done, description({ pending: [pending({ cursor: cursor() })] }))).toBe(done);
  });
});

describe('the phase without a worker', () => {
  it.each([
    ['COMPLETED', 'completed'],
    ['FAILED', 'failed'],
    ['TERMINATED', 'failed'],
    ['TIMED_OUT', 'failed'],
    ['CANCELLED', 'cancelled'],
  ] as const)('of a workflow that is %s is %s', (execution, expected) => {
    expect(phaseOf(description({ execution, restingPhase: 'running' }))).toBe(expected);
  });

  it.each([
    ['scheduled', [], 'scheduled'],
    ['scheduled', ['createSandbox'], 'provisioning'],
    ['scheduled', ['watchSandbox'], 'provisioning'],
    ['running', ['watchSandbox'], 'running'],
    ['running', ['pauseSandbox'], 'pausing'],
    ['paused', [], 'paused'],
    ['paused', ['probe'], 'paused'],
    ['paused', ['resumeSandbox'], 'resuming'],
    ['paused', ['watchSandbox'], 'resuming'],
    ['running', ['deleteSandboxes'], 'collecting'],
    [null, [], 'scheduled'],
  ] as const)('resting as %s with %j under way is %s', (restingPhase, types, expected) => {
    const under = types.map((type) => pending({ type }));
    expect(phaseOf(description({ restingPhase, pending: under }))).toBe(expected);
  });

  it('is not told by what was left behind', () => {
    const left = pending({ type: 'watchSandbox', leftBehind: true });
    expect(phaseOf(description({ restingPhase: 'paused', pending: [left] }))).toBe('paused');
  });
});

describe('the status of an ended job', () => {
  it('is the one in its result or its failure', () => {
    const done = status({ phase: 'completed', endedAt: at(30) });
    const closed = description({ execution: 'COMPLETED', closedAt: at(31) });
    expect(endedStatus(closed, { kind: 'completed', result: { result: 1, status: done } }, null)).toBe(done);
    const broken = status({ phase: 'failed', endedAt: at(30) });
    const ending = { kind: 'failed', code: 'AGENT_FAILED', message: 'no', status: broken } as const;
    expect(endedStatus(closed, ending, null)).toBe(broken);
  });

  it('is closed by what Temporal says when its workflow was terminated in the middle', () => {
    const closed = description({ execution: 'TERMINATED', closedAt: at(40) });
    const ending = { kind: 'failed', code: 'UNEXPECTED', message: 'terminated', status: null } as const;
    expect(endedStatus(closed, ending, status())).toMatchObject({
      phase: 'failed',
      phaseSince: at(40),
      endedAt: at(40),
      sandbox: { id: 'sb-1' },
      failure: { code: 'UNEXPECTED', message: 'terminated', logs: null },
    });
  });

  it('is what Temporal knows when nobody can be asked', () => {
    const closed = description({ execution: 'CANCELLED', closedAt: at(40) });
    expect(endedStatus(closed, { kind: 'cancelled' }, null)).toMatchObject({
      id: 'audit',
      phase: 'cancelled',
      endedAt: at(40),
      sandbox: null,
      failure: null,
    });
  });
});

describe('the identity of a job', () => {
  it.each([
    ['python:3.12-slim', /^python-[0-9a-z]{8}$/],
    ['registry.example.com:5000/team/agent@sha256:ab', /^agent-[0-9a-z]{8}$/],
    ['---', /^job-[0-9a-z]{8}$/],
  ])('is named after its image %s', (image, expected) => {
    expect(newJobId(image)).toMatch(expected);
    expect(newJobId(image)).not.toBe(newJobId(image));
  });

  it('is the same work whatever the order of its fields and its ID', () => {
    const { checkpoint: check, sandbox, id, ...rest } = spec;
    expect(specDigest({ ...rest, checkpoint: check, id: 'other', sandbox } as typeof spec)).toBe(
      specDigest(spec),
    );
    expect(specDigest({ ...spec, id, sandbox: { ...sandbox, image: 'other' } })).not.toBe(specDigest(spec));
    const [a, b] = [
      { A: '1', B: '2' },
      { B: '2', A: '1' },
    ];
    expect(specDigest({ ...spec, sandbox: { ...sandbox, env: a } })).toBe(
      specDigest({ ...spec, sandbox: { ...sandbox, env: b } }),
    );
  });
});
