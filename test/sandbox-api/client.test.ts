import { afterEach, describe, expect, it } from 'vitest';
import {
  connectSandboxApi,
  type SandboxApi,
  type SandboxApiOptions,
  UnreachableError,
} from '../../activities/sandbox-api/index.js';
import {
  type Behaviour,
  cut,
  html,
  inTurn,
  json,
  type ScriptedApi,
  scriptedApi,
  stall,
} from '../support/scripted-api.js';

const KEY = 'osk-CANARY';
const sandbox = { id: 'sb-1', status: { state: 'Running' } };
const request = {
  image: 'python:3.12',
  entrypoint: ['agent'],
  env: { A: '1' },
  resources: { cpu: '1', memory: '512Mi' },
  persistence: { storageClass: 'local-path', size: '5Gi' },
  volumeName: 'longhaul-x-1',
  metadata: { 'longhaul-run': 'x' },
};

const open: (ScriptedApi | SandboxApi)[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

async function connect(
  routes: Record<string, Behaviour | (() => Behaviour)>,
  options: Partial<SandboxApiOptions> = {},
  base = '',
) {
  const server = await scriptedApi((key) => {
    const found = routes[key];
    return found?.length === 0 ? (found as () => Behaviour)() : (found as Behaviour | undefined);
  });
  const api = connectSandboxApi({
    apiUrl: `${server.url}${base}`,
    apiKey: KEY,
    persistence: 'extensions',
    ...options,
  });
  open.push(server, api);
  return { server, api };
}

function proxy(api: SandboxApi, timeoutMs = 2000, maxBytes = 1024) {
  return api.readThroughProxy('sb-1', 8000, 'state.json', { maxBytes, timeoutMs });
}

const PROXY = 'GET /sandboxes/sb-1/proxy/8000/state.json';

describe('every request', () => {
  it('carries the key and an ID of its own', async () => {
    const seen: unknown[] = [];
    const { api } = await connect({
      'GET /sandboxes/sb-1': (incoming, response) => {
        seen.push(incoming.headers['open-sandbox-api-key'], incoming.headers['x-request-id']);
        json(200, sandbox)(incoming, response, '');
      },
    });
    await api.get('sb-1');
    await api.get('sb-1');
    expect(seen[0]).toBe(KEY);
    expect(seen[1]).not.toBe(seen[3]);
  });

  it('takes the base URL as it is given, with or without /v1 and a slash', async () => {
    const { api } = await connect({ 'GET /v1/sandboxes/sb-1': json(200, sandbox) }, {}, '/v1/');
    expect(await api.get('sb-1')).toMatchObject({ id: 'sb-1' });
  });

  it('never shows the key in an error', async () => {
    const { api } = await connect({
      'GET /sandboxes/sb-1': json(401, { code: 'INVALID_API_KEY', message: 'no' }),
    });
    const error = await api.get('sb-1').catch((reason) => reason);
    expect(error.name).toBe('KeyRejectedError');
    expect(`${error.stack}${JSON.stringify(error)}`).not.toContain(KEY);
  });

  it('is ended by its signal, with the very reason', async () => {
    const { api } = await connect({ 'GET /sandboxes/sb-1': stall });
    const reason = new Error('stop');
    await expect(api.get('sb-1', abortedSoon(reason))).rejects.toBe(reason);
  });
});

function abortedSoon(reason: Error): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(reason), 30);
  return controller.signal;
}

describe('create', () => {
  it.each([
    ['extensions', { extensions: { persistence: 'true', storageClass: 'local-path', storageSize: '5Gi' } }],
    ['none', {}],
    [
      'volumes',
      {
        volumes: [
          {
            name: 'workspace',
            mountPath: '/workspace',
            pvc: {
              claimName: 'longhaul-x-1',
              storageClass: 'local-path',
              storage: '5Gi',
              createIfNotExists: true,
              deleteOnSandboxTermination: true,
            },
          },
        ],
      },
    ],
  ] as const)('asks for a volume by %s', async (persistence, expected) => {
    let sent: unknown;
    const create: Behaviour = (incoming, response, body) => {
      sent = JSON.parse(body);
      json(202, sandbox)(incoming, response, body);
    };
    const { api } = await connect({ 'POST /sandboxes': create }, { persistence });
    await api.create(request);
    expect(sent).toEqual({
      image: { uri: 'python:3.12' },
      entrypoint: ['agent'],
      env: { A: '1' },
      resourceLimits: { cpu: '1', memory: '512Mi' },
      metadata: { 'longhaul-run': 'x' },
      ...expected,
    });
  });

  it('is never repeated by itself: a cut answer is ambiguous', async () => {
    const { api, server } = await connect({ 'POST /sandboxes': cut });
    await expect(api.create(request)).rejects.toMatchObject({ name: 'UnreachableError', ambiguous: true });
    expect(server.requests).toEqual(['POST /sandboxes']);
  });

  it('is not ambiguous when nobody was there', async () => {
    const { api, server } = await connect({});
    await server.close();
    await expect(api.create(request)).rejects.toMatchObject({ name: 'UnreachableError', ambiguous: false });
  });
});

describe('get', () => {
  it('needs only an ID and a state', async () => {
    const { api } = await connect({ 'GET /sandboxes/sb-1': json(200, sandbox) });
    expect(await api.get('sb-1')).toEqual({
      id: 'sb-1',
      state: 'Running',
      reason: null,
      message: null,
      image: null,
      createdAt: null,
      metadata: null,
    });
  });

  it('says "gone" only by the word of the API', async () => {
    const { api } = await connect({
      'GET /sandboxes/gone': json(404, { code: 'KUBERNETES::SANDBOX_NOT_FOUND', message: 'm' }),
      'GET /sandboxes/html': html(404),
    });
    expect(await api.get('gone')).toBeNull();
    await expect(api.get('html')).rejects.toBeInstanceOf(UnreachableError);
    await expect(api.get('router')).rejects.toBeInstanceOf(UnreachableError);
  });

  it('does not notice a pooled connection that was closed', async () => {
    const { api } = await connect({ 'GET /sandboxes/sb-1': inTurn(cut, json(200, sandbox)) });
    expect(await api.get('sb-1')).toMatchObject({ id: 'sb-1' });
  });

  it('does not take a login page for an answer', async () => {
    const { api } = await connect({ 'GET /sandboxes/sb-1': html(200) });
    await expect(api.get('sb-1')).rejects.toBeInstanceOf(UnreachableError);
  });
});

describe('list', () => {
  const item = (id: string, run: string) => ({ ...sandbox, id, metadata: { 'longhaul-run': run } });

  it('reads all pages and filters again', async () => {
    const { api } = await connect({
      'GET /sandboxes': inTurn(
        json(200, { items: [item('a', 'x'), item('b', 'y')], pagination: { page: 1, hasNextPage: true } }),
        json(200, { items: [item('c', 'x'), sandbox], pagination: { page: 2, hasNextPage: false } }),
      ),
    });
    const found = await api.list({ metadata: { 'longhaul-run': 'x' } });
    expect(found.map(({ id }) => id)).toEqual(['a', 'c']);
  });

  it('ends at a short page where the deployment does not say whether there are more', async () => {
    const { api, server } = await connect({
      'GET /sandboxes': json(200, { items: [item('a', 'x')], pagination: { page: 1, pageSize: 20 } }),
    });
    expect(await api.list({ metadata: {} })).toHaveLength(1);
    expect(server.requests).toHaveLength(1);
  });
});

describe('delete', () => {
  it('counts what is gone as deleted', async () => {
    const { api } = await connect({
      'DELETE /sandboxes/sb-1': json(404, { code: 'SANDBOX_NOT_FOUND', message: 'm' }),
    });
    await expect(api.delete('sb-1')).resolves.toBeUndefined();
  });
});

describe('a read through the proxy', () => {
  it.each([
    ['the answer of the agent', json(200, { step: 1 }), { kind: 'answer', status: 200 }],
    [
      'a 404 of the agent',
      (_: unknown, response: Parameters<Behaviour>[1]) => void response.writeHead(404).end('nope'),
      { kind: 'answer', status: 404 },
    ],
    [
      'a redirect, which is not followed',
      (_: unknown, response: Parameters<Behaviour>[1]) =>
        void response.writeHead(302, { location: 'http://elsewhere' }).end(),
      { kind: 'answer', status: 302 },
    ],
    [
      'nobody listening',
      json(502, { code: 'BACKEND_CONNECTION_FAILED', message: 'm' }),
      { kind: 'not-listening' },
    ],
    [
      'nobody listening, in the words of older servers',
      json(502, { code: 'GENERAL::UNKNOWN_ERROR', message: 'Could not connect to the backend sandbox' }),
      { kind: 'not-listening' },
    ],
    [
      'a paused sandbox',
      json(404, { code: 'KUBERNETES::POD_IP_NOT_AVAILABLE', message: 'm' }),
      { kind: 'no-address' },
    ],
    [
      'an exited sandbox',
      json(500, { code: 'DOCKER::NETWORK_MODE_ENDPOINT_UNAVAILABLE', message: 'm' }),
      { kind: 'no-address' },
    ],
    [
      'an unknown sandbox',
      json(404, { code: 'DOCKER::SANDBOX_NOT_FOUND', message: 'm' }),
      { kind: 'sandbox-not-found' },
    ],
    [
      'an error of the proxy',
      json(500, { code: 'GENERAL::UNKNOWN_ERROR', message: 'An internal error occurred in the proxy: ' }),
      { kind: 'unavailable' },
    ],
    ['a page of a load balancer', html(503), { kind: 'unavailable' }],
    [
      'a body cut short',
      (_: unknown, response: Parameters<Behaviour>[1]) => {
        response.writeHead(200, { 'content-length': '512' });
        response.write('{"step":41');
        setTimeout(() => response.destroy(), 20);
      },
      { kind: 'unavailable' },
    ],
    ['a stalled body', stall, { kind: 'unavailable' }],
  ] as [string, Behaviour, object][])('tells apart: %s', async (_, behaviour, expected) => {
    const { api } = await connect({ [PROXY]: behaviour });
    expect(await proxy(api, 300)).toMatchObject(expected);
  });

  it('does not read on beyond the limit', async () => {
    let sentBytes = 0;
    const flood: Behaviour = (_, response) => {
      response.writeHead(200);
      const chunk = Buffer.alloc(64 * 1024, 0x20);
      const more = () => {
        while (sentBytes < 150 * 2 ** 20 && !response.destroyed) {
          sentBytes += chunk.byteLength;
          if (!response.write(chunk)) return void response.once('drain', more);
        }
        response.end();
      };
      more();
    };
    const { api } = await connect({ [PROXY]: flood });
    expect(await proxy(api)).toMatchObject({ kind: 'too-large', limitBytes: 1024 });
    expect(sentBytes).toBeLessThan(20 * 2 ** 20);
  });

  it('throws what concerns the whole API', async () => {
    const { api } = await connect({
      [PROXY]: inTurn(
        json(401, { code: 'INVALID_API_KEY', message: 'm' }),
        json(429, {}, { 'retry-after': '7' }),
      ),
    });
    await expect(proxy(api)).rejects.toMatchObject({ name: 'KeyRejectedError' });
    await expect(proxy(api)).rejects.toMatchObject({ name: 'RateLimitedError', retryAfterMs: 7000 });
  });

  it('encodes the segments of a path and lets a query pass', async () => {
    const { api, server } = await connect({});
    await api.readThroughProxy('sb-1', 8000, 'a b/ü.json?x=1&y', { maxBytes: 10 });
    expect(server.requests[0]).toBe('GET /sandboxes/sb-1/proxy/8000/a%20b/%C3%BC.json');
  });
});

describe('diagnostics', () => {
  it('are text in either form', async () => {
    const { api } = await connect({
      'GET /sandboxes/json/diagnostics/logs': json(200, { kind: 'logs', content: 'line' }),
      'GET /sandboxes/text/diagnostics/logs': (_, response) => void response.end('line'),
    });
    expect(await api.diagnostics('json', 'logs', { tailLines: 5 })).toBe('line');
    expect(await api.diagnostics('text', 'logs')).toBe('line');
  });
});
