import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { SandboxApi } from '../../activities/sandbox-api/index.js';
import {
  type Behaviour,
  cutBody,
  flood,
  html,
  inTurn,
  json,
  reset,
  silence,
  stall,
} from '../support/scripted-api.js';
import { connect } from './connect.js';

const PROXY = 'GET /sandboxes/sb-1/proxy/8000/state.json';

function read(api: SandboxApi, { timeoutMs = 5000, maxBytes = 1024 } = {}) {
  return api.readThroughProxy('sb-1', 8000, 'state.json', { maxBytes, timeoutMs });
}

function says(status: number, code: string, message = 'm'): Behaviour {
  return json(status, { code, message });
}

describe('a read through the proxy', () => {
  it.each<[string, Behaviour, object]>([
    [
      'the answer of the agent',
      json(200, { step: 1 }),
      { kind: 'answer', status: 200, contentType: 'application/json' },
    ],
    [
      'an empty answer',
      (_, response) => void response.writeHead(204).end(),
      { kind: 'answer', status: 204, contentType: null },
    ],
    [
      'a 404 of the agent',
      (_, response) => void response.writeHead(404).end('nope'),
      { kind: 'answer', status: 404 },
    ],
    ['a 401 of the agent', json(401, { error: 'who are you' }), { kind: 'answer', status: 401 }],
    ['a 404 in JSON', json(404, { detail: 'Not Found' }), { kind: 'answer', status: 404 }],
    [
      'a redirect, which is not followed',
      (_, response) => void response.writeHead(302, { location: 'http://elsewhere' }).end(),
      { kind: 'answer', status: 302 },
    ],
    ['a page of a login', html(200), { kind: 'answer', contentType: 'text/html' }],
    ['nobody listening', says(502, 'BACKEND_CONNECTION_FAILED'), { kind: 'not-listening' }],
    [
      'nobody listening, in the words of older servers',
      says(502, 'GENERAL::UNKNOWN_ERROR', 'Could not connect to the backend sandbox'),
      { kind: 'not-listening' },
    ],
    ['a paused sandbox', says(404, 'KUBERNETES::POD_IP_NOT_AVAILABLE'), { kind: 'no-address' }],
    ['an exited sandbox', says(500, 'DOCKER::NETWORK_MODE_ENDPOINT_UNAVAILABLE'), { kind: 'no-address' }],
    ['an unknown sandbox', says(404, 'DOCKER::SANDBOX_NOT_FOUND'), { kind: 'sandbox-not-found' }],
    [
      'an error of the proxy',
      says(500, 'GENERAL::UNKNOWN_ERROR', 'An internal error occurred in the proxy: '),
      { kind: 'unavailable' },
    ],
    ['an agent that hung up', says(502, 'BACKEND_RESPONSE_FAILED'), { kind: 'unavailable' }],
    [
      'a frozen sandbox, waited out',
      says(504, 'BACKEND_TIMEOUT'),
      { kind: 'unavailable', message: expect.stringContaining('504') },
    ],
    [
      'a page of a load balancer',
      html(503),
      { kind: 'unavailable', message: expect.stringMatching(/503.*HTML/) },
    ],
    ['a long page of a load balancer', flood(2 ** 20, { bytes: 0 }, 503), { kind: 'unavailable' }],
    ['a long 404 of the agent', flood(2 ** 20, { bytes: 0 }, 404), { kind: 'too-large', limitBytes: 1024 }],
    [
      'a body cut short',
      cutBody,
      { kind: 'unavailable', message: expect.stringContaining('UND_ERR_SOCKET') },
    ],
    ['a reset connection', reset, { kind: 'unavailable' }],
  ])('tells apart: %s', async (_, behaviour, expected) => {
    const { api } = await connect({ [PROXY]: behaviour });
    expect(await read(api)).toMatchObject(expected);
  });

  it.each([
    ['that says nothing', silence],
    ['whose body stalls', stall],
  ])('is given up in its own time on a server %s', async (_, behaviour) => {
    const { api } = await connect({ [PROXY]: behaviour });
    const startedAt = performance.now();
    const answer = await read(api, { timeoutMs: 300 });
    expect(answer).toMatchObject({ kind: 'unavailable', message: expect.stringContaining('within 0.3 s') });
    expect(performance.now() - startedAt).toBeGreaterThan(290);
    expect(performance.now() - startedAt).toBeLessThan(5000);
  });

  it('does not read on beyond the limit', async () => {
    const sent = { bytes: 0 };
    const { api } = await connect({ [PROXY]: flood(150 * 2 ** 20, sent) });
    expect(await read(api)).toMatchObject({ kind: 'too-large', limitBytes: 1024 });
    expect(sent.bytes).toBeLessThan(20 * 2 ** 20);
  });

  it('takes exactly as much as is allowed', async () => {
    const { api } = await connect({ [PROXY]: (_, response) => void response.end('x'.repeat(1024)) });
    expect(await read(api, { maxBytes: 1024 })).toMatchObject({ kind: 'answer' });
    expect(await read(api, { maxBytes: 1023 })).toEqual({
      kind: 'too-large',
      sizeBytes: 1024,
      limitBytes: 1023,
    });
  });

  it('reads the code of an error however little is allowed, but gives no longer body', async () => {
    const { api } = await connect({
      [PROXY]: inTurn(says(404, 'X::SANDBOX_NOT_FOUND'), json(404, { of: 'the agent' })),
    });
    expect(await read(api, { maxBytes: 4 })).toMatchObject({ kind: 'sandbox-not-found' });
    expect(await read(api, { maxBytes: 4 })).toMatchObject({ kind: 'too-large', limitBytes: 4 });
  });

  it('asks for no compression, and unpacks none', async () => {
    let asked: unknown;
    const bomb = gzipSync(Buffer.alloc(10 * 2 ** 20));
    const { api } = await connect({
      [PROXY]: (incoming, response) => {
        asked = incoming.headers['accept-encoding'];
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
      },
    });
    const answer = await read(api, { maxBytes: 2 ** 20 });
    expect(asked).toBe('identity');
    expect(answer.kind === 'answer' && answer.body.equals(bomb)).toBe(true);
  });

  it('throws what concerns the whole API', async () => {
    const { api } = await connect({
      [PROXY]: inTurn(
        says(401, 'INVALID_API_KEY'),
        says(403, 'API_KEY_EXPIRED'),
        json(429, {}, { 'retry-after': '7' }),
      ),
    });
    await expect(read(api)).rejects.toMatchObject({ name: 'KeyRejectedError' });
    await expect(read(api)).rejects.toMatchObject({ name: 'KeyRejectedError' });
    await expect(read(api)).rejects.toMatchObject({ name: 'RateLimitedError', retryAfterMs: 7000 });
  });

  it.each([
    ['a b/ü.json?x=1&y=%2F', '/a%20b/%C3%BC.json?x=1&y=%2F'],
    ['50%/a#b', '/50%25/a%23b'],
    ['half \ud800', '/half%20%EF%BF%BD'],
    ['', '/'],
  ])('encodes the segments of %j and lets a query pass', async (path, expected) => {
    const { api, server } = await connect({});
    await api.readThroughProxy('sb-1', 8000, path, { maxBytes: 10 });
    expect(server.targets[0]).toBe(`GET /sandboxes/sb-1/proxy/8000${expected}`);
  });
});
