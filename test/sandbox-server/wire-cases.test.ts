/**
 * Requests that were sent to a real OpenSandbox server (1.1.1, docker), sent to this one: the status, the
 * code without its prefix, and the shape must be the recorded ones, or differ for a reason that is given.
 * Not here, because they are no single requests: races (lifecycle.test.ts), streams and WebSocket
 * (proxy.test.ts), expiry (api.test.ts), restart (durability.test.ts).
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, API_KEY, readAnswer, startTestServer, type TestServer } from './support.js';
import { UNKNOWN, type WireAnswer, type WireCase } from './wire-case.js';
import { diagnostics, endpoints, pauses, proxies, theRest, volumes } from './wire-data.js';
import { authAndPaths, changes, creates, reads, refusedCreates } from './wire-lifecycle.js';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ pauseKind: 'frozen', answerTimeoutMs: 400 });
});
afterAll(async () => {
  await server.end();
});

const ids = new Map([['unknown', UNKNOWN]]);
const fill = (text: string) => text.replace(/\{(\w+)\}/g, (_, name) => ids.get(name) ?? `no-${name}`);

async function replay({ method, path, body, headers, keyless }: WireCase): Promise<Answer> {
  const response = await fetch(server.url + fill(path), {
    method,
    redirect: 'manual',
    headers: {
      ...(keyless ? {} : { 'open-sandbox-api-key': API_KEY }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return await readAnswer(response);
}

function check(answer: Answer, expected: WireAnswer): void {
  const { json } = answer;
  const { code, detail, issue, keys, state, text, headers = {} } = expected;
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: expected.status });
  if (code !== undefined) {
    expect(Object.keys(json)).toEqual(['code', 'message']);
    expect(json.code.split('::').at(-1)).toBe(code);
  }
  if (detail !== undefined) expect(json).toEqual({ detail });
  if (issue !== undefined) {
    expect(
      json.detail.map(({ type, loc }: { type: string; loc: string[] }) => [type, loc.join('.')]),
    ).toEqual([issue]);
  }
  if (keys !== undefined) expect(Object.keys(json).sort().join(' ')).toBe(keys);
  if (state !== undefined) expect(json.status.state).toBe(state);
  if (text !== undefined) expect(answer.text).toMatch(text);
  for (const [name, value] of Object.entries(headers)) {
    expect(answer.headers.get(name)).toEqual(value instanceof RegExp ? expect.stringMatching(value) : value);
  }
  expect(answer.headers.get('x-request-id')).toBeTruthy();
}

async function settle({ saves, until }: WireCase, { json }: Answer): Promise<void> {
  if (saves !== undefined) ids.set(saves, json.id);
  if (until === undefined) return;
  const [name, state] = until;
  const id = ids.get(name) ?? '';
  const isReady = async () => (await server.call('GET', `/sandboxes/${id}/proxy/8000/`)).status < 500;
  if (state === 'ready') await expect.poll(isReady, { timeout: 10_000 }).toBe(true);
  else await server.untilState(id, state);
  if (name === 'a') await server.untilReady(id);
}

describe.each([
  ['authentication and paths', authAndPaths],
  ['creates that are refused', refusedCreates],
  ['creates', creates],
  ['get and list', reads],
  ['renewal and metadata', changes],
  ['endpoints', endpoints],
  ['the proxy', proxies],
  ['diagnostics', diagnostics],
  ['pause and resume', pauses],
  ['volumes', volumes],
  ['the rest', theRest],
])('recorded: %s', (_group, cases) => {
  const names = cases.map((each) => [
    each.here === undefined ? each.name : `${each.name}: differs. ${each.because}`,
    each,
  ]);
  test.each(names as [string, WireCase][])('%s', async (_name, wireCase) => {
    const answer = await replay(wireCase);
    check(answer, wireCase.here ?? wireCase.recorded);
    if (wireCase.here !== undefined) {
      expect(wireCase.because).toBeTruthy();
      // A difference that has gone must not be claimed any longer.
      expect(() => check(answer, wireCase.recorded)).toThrow();
    }
    await settle(wireCase, answer);
  });
});
