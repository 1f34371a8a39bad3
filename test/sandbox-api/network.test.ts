import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import {
  type Behaviour,
  cut,
  cutBody,
  delayed,
  flood,
  html,
  inTurn,
  json,
  reset,
  silence,
  stall,
} from '../support/scripted-api.js';
import { connect, everythingOf, KEY, request, sandbox } from './connect.js';

const GET = 'GET /sandboxes/sb-1';
const PAUSE = 'POST /sandboxes/sb-1/pause';

function abortedSoon(reason: unknown): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(reason), 30);
  return controller.signal;
}

describe('a connection that is cut', () => {
  it.each([
    ['before an answer', cut],
    ['with a reset', reset],
    ['in the middle of a body', cutBody],
  ])('%s is not noticed by a read', async (_, fault) => {
    const { api, server } = await connect({ [GET]: inTurn(fault, json(200, sandbox)) });
    expect(await api.get('sb-1')).toMatchObject({ id: 'sb-1' });
    expect(server.requests).toHaveLength(2);
  });

  it('twice is an error that says so, without the key', async () => {
    const { api, server } = await connect({ [GET]: cut });
    const error = await api.get('sb-1').catch((reason) => reason);
    expect(error).toMatchObject({ name: 'UnreachableError', status: null, route: 'GET /sandboxes/{id}' });
    expect(error.message).toMatch(/UND_ERR_SOCKET|ECONNRESET/);
    expect(everythingOf(error)).not.toContain(KEY);
    expect(server.requests).toHaveLength(2);
  });

  it.each([cut, reset])('never makes a pause, a delete or a create happen twice (%#)', async (fault) => {
    const { api, server } = await connect({
      [GET]: json(200, sandbox),
      [PAUSE]: fault,
      'DELETE /sandboxes/sb-1': fault,
      'POST /sandboxes': fault,
    });
    const ambiguous = { name: 'UnreachableError', ambiguous: true };
    // The read leaves a connection behind that is used again.
    for (const act of [() => api.pause('sb-1'), () => api.delete('sb-1'), () => api.create(request)]) {
      await api.get('sb-1');
      await expect(act()).rejects.toMatchObject(ambiguous);
    }
    expect(server.requests.filter((each) => each !== GET)).toHaveLength(3);
  });

  it('is certain to have done nothing when there was none', async () => {
    const { api, server } = await connect({});
    await server.close();
    await expect(api.create(request)).rejects.toMatchObject({ name: 'UnreachableError', ambiguous: false });
    await expect(api.pause('sb-1')).rejects.toThrow(/ECONNREFUSED/);
  });

  it('is certain to have done nothing when the host has no address', async () => {
    const { api } = await connect({}, { apiUrl: 'http://no-such-host.invalid' });
    await expect(api.create(request)).rejects.toMatchObject({ name: 'UnreachableError', ambiguous: false });
  });
});

describe('the time limit', () => {
  const timeouts = { createMs: 5000, lifecycleMs: 200, readMs: 200 };

  it.each([
    ['headers', silence],
    ['a body', stall],
  ])('ends the waiting for %s', async (_, fault) => {
    const { api } = await connect({ [GET]: fault, [PAUSE]: fault }, { timeouts });
    await expect(api.get('sb-1')).rejects.toThrow(
      'did not answer GET /sandboxes/{id} (no answer within 0.2 s)',
    );
    await expect(api.pause('sb-1')).rejects.toMatchObject({ name: 'UnreachableError', ambiguous: true });
  });

  it('holds for a read and its repetition together', async () => {
    const { api } = await connect(
      { [GET]: inTurn(delayed(800, cut), silence) },
      { timeouts: { readMs: 1000 } },
    );
    const startedAt = performance.now();
    await expect(api.get('sb-1')).rejects.toThrow(/within 1 s/);
    expect(performance.now() - startedAt).toBeLessThan(1700);
  });

  it('is another one for a create', async () => {
    const { api } = await connect({ 'POST /sandboxes': delayed(500, json(202, sandbox)) }, { timeouts });
    expect(await api.create(request)).toMatchObject({ id: 'sb-1' });
  });
});

describe('a signal', () => {
  it.each([
    ['before an answer', silence],
    ['in the middle of a body', stall],
  ])('ends a request %s with its very reason', async (_, fault) => {
    const { api } = await connect({ [GET]: fault, 'GET /sandboxes/sb-1/proxy/8000/x': fault });
    const reason = { not: 'even an error' };
    await expect(api.get('sb-1', abortedSoon(reason))).rejects.toBe(reason);
    const signal = abortedSoon(reason);
    await expect(api.readThroughProxy('sb-1', 8000, 'x', { maxBytes: 1024, signal })).rejects.toBe(reason);
  });

  it('that was given before lets nothing be sent', async () => {
    const { api, server } = await connect({ [GET]: json(200, sandbox) });
    const reason = new Error('stop');
    await expect(api.get('sb-1', AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(server.requests).toEqual([]);
  });

  it('keeps nothing of the requests that it was passed to', async () => {
    const { api } = await connect({ [GET]: json(200, sandbox) });
    const { signal } = new AbortController();
    for (let n = 0; n < 50; n += 1) await api.get('sb-1', signal);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });
});

describe('connections', () => {
  it('are given back, whatever the answer was', async () => {
    const fifth: Behaviour[] = [
      json(200, { step: 1 }),
      html(502),
      json(404, { code: 'SANDBOX_NOT_FOUND' }),
      flood(2 ** 20),
      cutBody,
    ];
    const { api, server } = await connect({ 'GET /sandboxes/sb-1/proxy/8000/x': cycling(fifth) });
    const reads = Array.from({ length: 600 }, () =>
      api.readThroughProxy('sb-1', 8000, 'x', { maxBytes: 1024, timeoutMs: 30_000 }),
    );
    const kinds = (await Promise.all(reads)).map(({ kind }) => kind);
    expect(new Set(kinds)).toContain('too-large');
    expect(kinds.filter((kind) => kind === 'answer').length).toBeGreaterThan(100);
    expect(await server.openConnections()).toBeLessThanOrEqual(128);
    expect(await api.readThroughProxy('sb-1', 8000, 'none', { maxBytes: 1024 })).toMatchObject({
      status: 404,
    });
  });

  it('of agents that hang are not those that a pause needs', async () => {
    const { api } = await connect({
      'GET /sandboxes/sb-1/proxy/8000/x': silence,
      [PAUSE]: json(202, {}),
    });
    const hanging = Array.from({ length: 300 }, () =>
      api.readThroughProxy('sb-1', 8000, 'x', { maxBytes: 1, timeoutMs: 60_000 }),
    );
    await api.pause('sb-1', AbortSignal.timeout(10_000));
    await api.close();
    expect(new Set((await Promise.all(hanging)).map(({ kind }) => kind))).toEqual(new Set(['unavailable']));
  });
});

function cycling(behaviours: readonly Behaviour[]): () => Behaviour {
  let next = 0;
  return () => behaviours[next++ % behaviours.length] as Behaviour;
}
