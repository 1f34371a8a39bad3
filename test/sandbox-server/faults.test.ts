/** Faults of requests and answers. Those of states are in fault-states.test.ts. */

import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { API_KEY, createSpec, startTestServer, type TestServer, until } from './support.js';

let server: TestServer;
let id: string;
beforeAll(async () => {
  server = await startTestServer({ faults: true });
  id = await server.create({ metadata: { job: 'one' } });
  await server.untilReady(id);
});
afterEach(async () => {
  expect(await server.call('DELETE', '/__faults')).toMatchObject({ status: 204 });
});
afterAll(async () => {
  await server.end();
});

const order = async (...rules: unknown[]) => {
  const answer = await server.call('POST', '/__faults', { seed: 7, rules });
  expect([answer.status, answer.text]).toEqual([201, expect.stringContaining('"rules"')]);
};
const sandbox = () => `/sandboxes/${id}`;
const proxied = (path: string) => `${sandbox()}/proxy/8000${path}`;
const idsWith = async (label: string) => {
  const { json } = await server.call('GET', `/sandboxes?metadata=${encodeURIComponent(label)}`);
  return json.items.map((item: { id: string }) => item.id);
};

describe('the rules', () => {
  test('can be listed with their seed and their strikes, and cleared', async () => {
    await order({ fault: { kind: 'status', status: 503 }, match: { path: '/sandboxes/*' }, count: 2 });
    for (const status of [503, 503, 200])
      expect(await server.call('GET', sandbox())).toMatchObject({ status });
    expect((await server.call('GET', '/__faults')).json).toEqual({
      seed: 7,
      rules: [
        {
          id: 1,
          fault: { kind: 'status', status: 503, when: 'before', format: 'json' },
          match: { path: '/sandboxes/*' },
          probability: 1,
          count: 2,
          matches: 2,
          strikes: 2,
        },
      ],
    });
    await server.call('DELETE', '/__faults');
    expect((await server.call('GET', '/__faults')).json.rules).toEqual([]);
  });

  test.each([
    [{ fault: { kind: 'latencee', ms: 1 } }, ['body', 'rules', 0, 'fault', 'kind']],
    [{ fault: { kind: 'latency', ms: -1 } }, ['body', 'rules', 0, 'fault', 'ms']],
    [{ fault: { kind: 'status', status: 200 } }, ['body', 'rules', 0, 'fault', 'status']],
    [{ fault: { kind: 'drop' }, probability: 2 }, ['body', 'rules', 0, 'probability']],
    [{ fault: { kind: 'drop' }, match: { path: 'sandboxes' } }, ['body', 'rules', 0, 'match', 'path']],
    [{ fault: { kind: 'drop' }, from: 'tomorrow' }, ['body', 'rules', 0, 'from']],
  ])('that make no sense are refused, field by field: %j', async (rule, loc) => {
    const { status, json } = await server.call('POST', '/__faults', { rules: [rule] });
    expect([status, json.detail[0].loc]).toEqual([422, loc]);
    expect((await server.call('GET', '/__faults')).json.rules).toEqual([]);
  });

  test('are for holders of the API key', async () => {
    expect((await fetch(`${server.url}/__faults`)).status).toBe(401);
  });

  test('do not exist on a server that was started without them', async () => {
    const other = await startTestServer();
    for (const method of ['GET', 'POST', 'DELETE']) {
      expect(await other.call(method, '/__faults')).toMatchObject({
        status: 404,
        json: { detail: 'Not Found' },
      });
    }
    await other.end();
  });

  test('strike by method, path, sandbox and labels alone', async () => {
    const other = await server.create({ entrypoint: ['sleep', '100'], metadata: { job: 'two' } });
    const fault = { kind: 'status', status: 500 };
    const statuses = async () => {
      const answers = [
        await server.call('GET', sandbox()),
        await server.call('GET', `/v1/sandboxes/${other}`),
        await server.call('GET', '/sandboxes?metadata=job%3Done'),
        await server.call('GET', proxied('/state.json')),
      ];
      return answers.map(({ status }) => status);
    };
    for (const [match, expected] of [
      [{ method: 'post' }, [200, 200, 200, 200]],
      [{ path: '/sandboxes/*' }, [500, 500, 200, 200]],
      [{ path: '/sandboxes/*/proxy/**' }, [200, 200, 200, 500]],
      [{ sandboxId: other }, [200, 500, 200, 200]],
      [{ metadata: { job: 'one' } }, [500, 200, 500, 500]],
    ] as const) {
      await order({ fault, match });
      expect([match, await statuses()]).toEqual([match, expected]);
      await server.call('DELETE', '/__faults');
    }
    await order({ fault, match: { metadata: { job: 'three' } } });
    const create = (job: string) =>
      server.call('POST', '/sandboxes', createSpec({ entrypoint: ['true'], metadata: { job } }));
    expect(await create('three')).toMatchObject({ status: 500 });
    expect(await create('four')).toMatchObject({ status: 202 });
    await server.call('DELETE', '/__faults');
    expect(await idsWith('job=three')).toEqual([]);
  });

  test('strike from one time until another', async () => {
    await order({ fault: { kind: 'status', status: 500 }, from: 200, until: 600 });
    const status = async () => (await server.call('GET', sandbox())).status;
    expect(await status()).toBe(200);
    await until(async () => (await status()) === 500, 'the beginning');
    await until(async () => (await status()) === 200, 'the end');
  });

  test('decide the same again with the same seed', async () => {
    const run = async (seed: number) => {
      const rule = { fault: { kind: 'status', status: 500 }, probability: 0.5 };
      await server.call('POST', '/__faults', { seed, rules: [rule] });
      const statuses: number[] = [];
      for (let n = 0; n < 40; n++) statuses.push((await server.call('GET', sandbox())).status);
      await server.call('DELETE', '/__faults');
      return statuses.join();
    };
    const first = await run(1);
    expect(first).toMatch(/500/);
    expect(first).toMatch(/200/);
    expect(await run(1)).toBe(first);
    expect(await run(2)).not.toBe(first);
  });
});

describe('an answer', () => {
  test('comes late', async () => {
    await order({ fault: { kind: 'latency', ms: 300 } });
    const sentAt = performance.now();
    expect(await server.call('GET', sandbox())).toMatchObject({ status: 200 });
    expect(performance.now() - sentAt).toBeGreaterThan(290);
  });

  test('is 429 with any Retry-After', async () => {
    for (const retryAfter of ['2', 'Wed, 21 Oct 2026 07:28:00 GMT', 'soon']) {
      await order({ fault: { kind: 'status', status: 429, retryAfter }, count: 1 });
      const { status, headers, json } = await server.call('POST', '/sandboxes', createSpec());
      expect([status, headers.get('retry-after'), json.code]).toEqual([
        429,
        retryAfter,
        'LOCAL::POOL_CAPACITY_EXHAUSTED',
      ]);
    }
  });

  test.each([
    [502, 'html', 'text/html', /^<html>/],
    [504, 'json', 'application/json', /"BACKEND_TIMEOUT"/],
    [502, 'json', 'application/json', /"BACKEND_CONNECTION_FAILED"/],
    [500, 'text', 'text/plain; charset=utf-8', /ordered by a fault rule/],
    [503, 'empty', null, /^$/],
  ])('of the proxy is %i in %s', async (status, format, type, body) => {
    await order({ fault: { kind: 'status', status, format }, match: { path: '/sandboxes/*/proxy/**' } });
    const answer = await server.call('GET', proxied('/state.json'));
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, type]);
    expect(answer.text).toMatch(body);
    expect(await server.call('GET', sandbox())).toMatchObject({ status: 200 });
  });

  test('of the gateway goes wrong as well', async () => {
    await order({ fault: { kind: 'status', status: 502 }, match: { path: `/gateway/${id}/8000/**` } });
    const headers = { 'OpenSandbox-Ingress-To': `${id}-8000` };
    expect((await fetch(`${server.gatewayUrl}/state.json`, { headers })).status).toBe(502);
  });

  test('is dropped before the work is done', async () => {
    await order({ fault: { kind: 'drop' }, match: { method: 'POST', path: '/sandboxes' }, count: 1 });
    const spec = createSpec({ entrypoint: ['true'], metadata: { job: 'dropped-before' } });
    await expect(server.call('POST', '/sandboxes', spec)).rejects.toThrow();
    expect(await idsWith('job=dropped-before')).toEqual([]);
  });

  test.each([
    { kind: 'drop', when: 'after' },
    { kind: 'status', status: 503, when: 'after' },
  ])('goes wrong after the work is done: %j', async (fault) => {
    const job = `after-${fault.kind}`;
    await order({ fault, match: { method: 'POST', path: '/sandboxes' }, count: 1 });
    const spec = createSpec({ entrypoint: ['true'], metadata: { job } });
    const answer = await server.call('POST', '/sandboxes', spec).catch(() => null);
    expect(answer?.status ?? 'dropped').toBe(fault.status ?? 'dropped');
    expect(await idsWith(`job=${job}`)).toHaveLength(1);
  });

  test('of an agent is dropped although the agent has heard the question', async () => {
    await order({ fault: { kind: 'drop', when: 'after' }, match: { path: '/sandboxes/*/proxy/**' } });
    await expect(server.call('GET', proxied('/state.json'))).rejects.toThrow();
    await order({ fault: { kind: 'status', status: 502, when: 'after' } });
    await server.call('DELETE', '/__faults');
    expect(await server.call('GET', proxied('/state.json'))).toMatchObject({ status: 200 });
  });

  test('is cut short, visibly or not', async () => {
    const bytes = 9;
    for (const path of [sandbox(), proxied('/state.json'), proxied('/big')]) {
      await order({ fault: { kind: 'truncate', bytes }, count: 1 });
      await expect(server.call('GET', path)).rejects.toThrow();
      await order({ fault: { kind: 'truncate', bytes, framing: 'whole' }, count: 1 });
      const { status, text, json } = await server.call('GET', path);
      expect([status, text.length, json]).toEqual([200, bytes, undefined]);
    }
    await order({ fault: { kind: 'truncate', bytes: 0 }, count: 1 });
    await expect(server.call('GET', sandbox())).rejects.toThrow();
    await order({ fault: { kind: 'truncate', bytes: 1e6 }, count: 1 });
    expect((await server.call('GET', sandbox())).json.id).toBe(id);
  });

  test('to an upgrade goes wrong as well', async () => {
    const upgrade = async () => {
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write(
        `GET ${proxied('/ws')} HTTP/1.1\r\nhost: x\r\nopen-sandbox-api-key: ${API_KEY}\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n`,
      );
      const first = await Promise.race([once(socket, 'data'), once(socket, 'close').then(() => ['closed'])]);
      socket.destroy();
      return String(first[0]).split('\r\n')[0];
    };
    expect(await upgrade()).toBe('HTTP/1.1 101 Switching Protocols');
    await order({ fault: { kind: 'status', status: 502, format: 'html' }, count: 1 });
    expect(await upgrade()).toBe('HTTP/1.1 502 Fault');
    await order({ fault: { kind: 'drop' }, count: 1 });
    expect(await upgrade()).toBe('closed');
    await order({ fault: { kind: 'drop', when: 'after' }, count: 1 });
    expect(await upgrade()).toBe('closed');
  });
});
