import { describe, expect, it } from 'vitest';
import { UnreachableError } from '../../activities/sandbox-api/index.js';
import { type Behaviour, flood, html, inTurn, json } from '../support/scripted-api.js';
import { connect, everythingOf, KEY, request, sandbox } from './connect.js';

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
    expect(seen[1]).toMatch(/^[0-9a-f-]{36}$/);
    expect(seen[1]).not.toBe(seen[3]);
  });

  it('takes the base URL as it is given, with or without /v1 and a slash', async () => {
    const { api } = await connect({ 'GET /v1/sandboxes/sb-1': json(200, sandbox) }, {}, '/v1/');
    expect(await api.get('sb-1')).toMatchObject({ id: 'sb-1' });
  });

  it('that fails names its ID, as the server gave it or else as it was sent', async () => {
    let sent: unknown;
    const { api } = await connect({
      'GET /sandboxes/named': json(500, {}, { 'x-request-id': 'srv-1' }),
      'GET /sandboxes/silent': (incoming, response, body) => {
        sent = incoming.headers['x-request-id'];
        json(500, {})(incoming, response, body);
      },
    });
    await expect(api.get('named')).rejects.toMatchObject({ requestId: 'srv-1' });
    const error = await api.get('silent').catch((reason) => reason);
    expect(error.requestId).toBe(sent);
  });

  it('never shows the key or a value of the environment in an error, even if the server echoes them', async () => {
    const echo: Behaviour = (incoming, response, body) =>
      json(400, { code: 'X', message: `bad: ${incoming.headers['open-sandbox-api-key']} ${body}` })(
        incoming,
        response,
        body,
      );
    const { api } = await connect({ 'GET /sandboxes/sb-1': echo, 'POST /sandboxes': echo });
    const errors = [
      await api.get('sb-1').catch((reason) => reason),
      await api.create({ ...request, env: { T: 'se"cret-CANARY' }, image: 'i' }).catch((reason) => reason),
    ];
    for (const error of errors) {
      expect(error.name).toBe('RefusedError');
      expect(everythingOf(error)).not.toContain('CANARY');
    }
  });

  it('is refused before it is sent when no header could carry the key', async () => {
    await expect(connect({}, { apiKey: `${KEY}\n` })).rejects.toThrow(/line ends/);
  });
});

describe('create', () => {
  const volumes = [
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
  ];
  const extensions = { persistence: 'true', storageClass: 'local-path', storageSize: '5Gi' };
  const { persistence: wanted } = request;

  it.each([
    ['extensions', wanted, { extensions }],
    ['volumes', wanted, { volumes }],
    ['none', wanted, {}],
    ['extensions', null, {}],
    ['volumes', null, {}],
  ] as const)('asks for a volume by %s: %j', async (persistence, volume, expected) => {
    let sent: unknown;
    const create: Behaviour = (incoming, response, body) => {
      sent = JSON.parse(body);
      json(202, sandbox)(incoming, response, body);
    };
    const { api } = await connect({ 'POST /sandboxes': create }, { persistence });
    await api.create({ ...request, persistence: volume });
    expect(sent).toEqual({
      image: { uri: 'python:3.12' },
      entrypoint: ['agent'],
      env: { A: '1' },
      resourceLimits: { cpu: '1', memory: '512Mi' },
      metadata: { 'longhaul-run': 'x' },
      ...expected,
    });
  });

  it.each([200, 201, 202])('takes a %i', async (status) => {
    const { api } = await connect({ 'POST /sandboxes': json(status, sandbox) });
    expect(await api.create(request)).toMatchObject({ id: 'sb-1', state: 'Running' });
  });

  it.each([
    ['a login page', html(200)],
    ['no ID', json(202, { status: { state: 'Running' } })],
    ['nothing', json(202, null)],
    ['more than anybody reads', flood(8 * 2 ** 20)],
  ])('answered with %s may have made a sandbox all the same', async (_, behaviour) => {
    const { api } = await connect({ 'POST /sandboxes': behaviour });
    await expect(api.create(request)).rejects.toMatchObject({ name: 'UnreachableError', ambiguous: true });
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

  it('gives what a full answer has, and any state', async () => {
    const status = { state: 'Hibernating', reason: 'R', message: 'M', lastTransitionAt: 'x' };
    const more = {
      image: { uri: 'python:3.12' },
      createdAt: '2026-07-02T10:37:16Z',
      metadata: { a: 'b' },
      new: [1],
    };
    const { api } = await connect({ 'GET /sandboxes/sb-1': json(200, { id: 'sb-1', status, ...more }) });
    expect(await api.get('sb-1')).toEqual({
      id: 'sb-1',
      state: 'Hibernating',
      reason: 'R',
      message: 'M',
      image: 'python:3.12',
      createdAt: '2026-07-02T10:37:16Z',
      metadata: { a: 'b' },
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

  it('does not take a login page for an answer', async () => {
    const { api } = await connect({ 'GET /sandboxes/sb-1': html(200) });
    await expect(api.get('sb-1')).rejects.toBeInstanceOf(UnreachableError);
  });
});

describe('list', () => {
  const item = (id: string, run = 'x') => ({ ...sandbox, id, metadata: { 'longhaul-run': run } });
  const page = (items: unknown[], pagination: object | undefined = undefined) =>
    json(200, { items, ...(pagination && { pagination }) });
  const ids = (found: readonly { id: string }[]) => found.map(({ id }) => id);
  const mine = { metadata: { 'longhaul-run': 'x' } };

  it('asks for a filter, reads all pages and filters again', async () => {
    const { api, server } = await connect({
      'GET /sandboxes': inTurn(
        page([item('a'), item('b', 'y')], { page: 1, hasNextPage: true }),
        page([item('c'), sandbox], { page: 2, hasNextPage: false }),
      ),
    });
    expect(ids(await api.list(mine))).toEqual(['a', 'c']);
    expect(server.targets).toEqual([
      'GET /sandboxes?page=1&pageSize=200&metadata=longhaul-run%3Dx',
      'GET /sandboxes?page=2&pageSize=200&metadata=longhaul-run%3Dx',
    ]);
  });

  it('shows a sandbox once that slid to the next page while others were made', async () => {
    const { api } = await connect({
      'GET /sandboxes': inTurn(
        page([item('a'), item('b')], { hasNextPage: true }),
        page([item('b'), item('c')], { hasNextPage: false }),
      ),
    });
    expect(ids(await api.list(mine))).toEqual(['a', 'b', 'c']);
  });

  it('ends at a short page where the deployment does not say whether there are more', async () => {
    const { api, server } = await connect({
      'GET /sandboxes': inTurn(
        page([item('a'), item('b')], { page: 1, pageSize: 2 }),
        page([item('c')], { page: 2, pageSize: 2 }),
      ),
    });
    expect(ids(await api.list({ metadata: {} }))).toEqual(['a', 'b', 'c']);
    expect(server.requests).toHaveLength(2);
  });

  it.each([
    ['does not know pages', undefined],
    ['gives its first page for ever', { page: 1, pageSize: 1 }],
  ])('ends on a server that %s', async (_, pagination) => {
    const { api, server } = await connect({ 'GET /sandboxes': page([item('a')], pagination) });
    expect(ids(await api.list(mine))).toEqual(['a']);
    expect(server.requests).toHaveLength(2);
  });

  it('reads smaller pages where a page is too large to be read', async () => {
    const large = { ...item('a'), entrypoint: ['x'.repeat(5 * 2 ** 20)] };
    const { api, server } = await connect({
      'GET /sandboxes': inTurn(page([large]), page([item('a')], { hasNextPage: false })),
    });
    expect(ids(await api.list(mine))).toEqual(['a']);
    expect(server.targets[1]).toContain('page=1&pageSize=20&');
  });

  it('fails rather than give half of the list', async () => {
    const { api } = await connect({
      'GET /sandboxes': inTurn(page([item('a')], { hasNextPage: true }), html(200)),
    });
    await expect(api.list(mine)).rejects.toBeInstanceOf(UnreachableError);
  });
});

describe('pause, resume and delete', () => {
  it('take any success', async () => {
    const { api, server } = await connect({
      'POST /sandboxes/sb%2F1/pause': (_, response) => void response.writeHead(202).end(),
      'POST /sandboxes/sb%2F1/resume': json(200, {}),
      'DELETE /sandboxes/sb%2F1': (_, response) => void response.writeHead(204).end(),
    });
    await api.pause('sb/1');
    await api.resume('sb/1');
    await api.delete('sb/1');
    expect(server.requests).toHaveLength(3);
  });

  it('tell what stands against it', async () => {
    const unsupported = {
      code: 'KUBERNETES::INVALID_STATE',
      message: 'Pause is not supported for this sandbox type',
    };
    const { api } = await connect({
      'POST /sandboxes/sb-1/pause': inTurn(
        json(400, unsupported),
        json(409, { code: 'DOCKER::SANDBOX_NOT_RUNNING' }),
        html(502),
      ),
      'POST /sandboxes/sb-1/resume': json(404, { code: 'DOCKER::SANDBOX_NOT_FOUND', message: 'm' }),
    });
    await expect(api.pause('sb-1')).rejects.toMatchObject({ name: 'UnsupportedError' });
    await expect(api.pause('sb-1')).rejects.toMatchObject({ name: 'ConflictError' });
    await expect(api.pause('sb-1')).rejects.toMatchObject({ name: 'UnreachableError', ambiguous: true });
    await expect(api.resume('sb-1')).rejects.toMatchObject({ name: 'SandboxNotFoundError' });
  });

  it('count what is gone as deleted, but not what a router does not know', async () => {
    const { api } = await connect({
      'DELETE /sandboxes/gone': json(404, { code: 'SANDBOX_NOT_FOUND', message: 'm' }),
    });
    await expect(api.delete('gone')).resolves.toBeUndefined();
    await expect(api.delete('router')).rejects.toBeInstanceOf(UnreachableError);
  });
});

describe('a check of the key', () => {
  it('reads as little as can be', async () => {
    const { api, server } = await connect({
      'GET /sandboxes': inTurn(
        json(200, { items: [] }),
        json(401, { code: 'INVALID_API_KEY', message: 'no' }),
      ),
    });
    await expect(api.checkKey()).resolves.toBeUndefined();
    await expect(api.checkKey()).rejects.toMatchObject({ name: 'KeyRejectedError' });
    expect(server.targets[0]).toBe('GET /sandboxes?page=1&pageSize=1');
  });
});
