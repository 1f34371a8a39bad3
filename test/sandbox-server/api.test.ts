import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API_KEY, createSpec, startTestServer, type TestServer, until } from './support.js';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(async () => {
  await server.end();
});

describe("the vendor's API page", () => {
  test('its sample request creates a sandbox, answered in its sample shape', async () => {
    const { status, json } = await server.call('POST', '/sandboxes', {
      image: { uri: 'python:3.12-slim' },
      entrypoint: ['/bin/sh', '-c', 'sleep 100'],
      resourceLimits: { cpu: '2', memory: '2Gi' },
      extensions: { persistence: 'true', storageClass: 'local-path', storageSize: '50Gi' },
    });
    expect(status).toBe(202);
    expect(json).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      image: { uri: 'python:3.12-slim' },
      status: {
        state: 'Running',
        reason: 'DependenciesReady',
        message: 'Pod is Ready; Service Exists',
        lastTransitionAt: expect.stringMatching(/^\d{4}-.*Z$/),
      },
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect((await server.call('GET', `/sandboxes/${json.id}`)).json).toEqual(json);
    const list = await server.call('GET', '/sandboxes');
    expect(list.json.items[0]).toEqual(json);
    expect(list.json.pagination).toMatchObject({ page: 1, pageSize: 20 });
    await server.call('DELETE', `/sandboxes/${json.id}`);
  });

  test('pause, resume and delete lead to Paused, Running and a 404', async () => {
    const id = await server.create();
    expect(await server.untilReady(id)).toMatchObject({ starts: 1 });
    expect(await server.call('POST', `/sandboxes/${id}/pause`)).toMatchObject({ status: 202, text: '' });
    await server.untilState(id, 'Paused');
    expect(await server.call('POST', `/sandboxes/${id}/resume`)).toMatchObject({ status: 202, text: '' });
    await server.untilState(id, 'Running');
    expect(await server.untilReady(id)).toMatchObject({ starts: 2 });
    expect(await server.call('DELETE', `/sandboxes/${id}`)).toMatchObject({ status: 204, text: '' });
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/pause'],
      ['POST', '/resume'],
      ['GET', '/endpoints/8000'],
      ['GET', '/proxy/8000/x'],
      ['GET', '/diagnostics/logs'],
    ] as const) {
      const { status, json } = await server.call(method, `/sandboxes/${id}${path}`);
      expect({ path, status, json }).toEqual({
        path,
        status: 404,
        json: { code: 'LOCAL::SANDBOX_NOT_FOUND', message: `Sandbox ${id} not found.` },
      });
    }
  });

  test('a service endpoint is the gateway plus a header, and works', async () => {
    const id = await server.create();
    await server.untilReady(id);
    const { json } = await server.call('GET', `/sandboxes/${id}/endpoints/8000`);
    expect(json).toEqual({
      endpoint: server.gatewayUrl.slice('http://'.length),
      headers: { 'OpenSandbox-Ingress-To': `${id}-8000` },
    });
    const answer = await fetch(`http://${json.endpoint}/state.json`, { headers: json.headers });
    expect(await answer.json()).toMatchObject({ starts: 1 });
    await server.call('DELETE', `/sandboxes/${id}`);
  });

  test('diagnostics are text, and JSON for those who name a scope', async () => {
    const id = await server.create({ env: { TOKEN: 'very-secret' } });
    await server.untilReady(id);
    const path = `/sandboxes/${id}/diagnostics`;
    const logs = await server.call('GET', `${path}/logs?tail=1`);
    expect(logs.text).toBe('agent start 1\n');
    expect(logs.headers.get('deprecation')).toBe('true');
    expect(logs.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    const scoped = await server.call('GET', `${path}/logs?scope=container`);
    expect(scoped.json).toEqual({
      sandboxId: id,
      kind: 'logs',
      scope: 'container',
      delivery: 'inline',
      contentType: 'text/plain; charset=utf-8',
      content: 'agent start 1\n',
      contentLength: 14,
      truncated: false,
    });
    expect((await server.call('GET', `${path}/events?scope=runtime`)).json.content).toContain(
      'DependenciesReady',
    );
    expect((await server.call('GET', `${path}/logs?scope=bogus`)).json).toEqual({
      code: 'DIAGNOSTICS_SCOPE_UNSUPPORTED',
      message: "Unsupported logs diagnostics scope 'bogus'. Supported scopes: container, all.",
    });
    expect(await server.call('GET', `${path}/logs?tail=0`)).toMatchObject({ status: 422 });
    const inspect = await server.call('GET', `${path}/inspect`);
    expect(inspect.text).toContain(id);
    expect(inspect.text).toContain('TOKEN');
    expect(inspect.text).not.toContain('very-secret');
    await server.call('DELETE', `/sandboxes/${id}`);
  });
});

describe('authentication', () => {
  const MISSING = {
    code: 'MISSING_API_KEY',
    message: 'Authentication credentials are missing. Provide API key via OPEN-SANDBOX-API-KEY header.',
  };
  test.each([
    '/sandboxes',
    '/v1/sandboxes',
    '/v1/sandboxes/x/proxy/abc/x',
    '/sandboxes/x/proxy/8000/a/../b',
    '/nothing',
  ])('is asked for at %s', async (path) => {
    const missing = await fetch(server.url + path);
    expect([missing.status, await missing.json()]).toEqual([401, MISSING]);
    const wrong = await fetch(server.url + path, { headers: { 'open-sandbox-api-key': `${API_KEY}x` } });
    expect([wrong.status, await wrong.json()]).toEqual([
      401,
      {
        code: 'INVALID_API_KEY',
        message: 'Authentication credentials are invalid. Check your API key and try again.',
      },
    ]);
  });

  test('is not asked for by health and version, which have no /v1', async () => {
    expect(await (await fetch(`${server.url}/health`)).json()).toEqual({ status: 'healthy' });
    expect(await (await fetch(`${server.url}/version`)).json()).toHaveProperty('version');
    expect(await server.call('GET', '/v1/health')).toMatchObject({
      status: 404,
      json: { detail: 'Not Found' },
    });
  });
});

describe('routes', () => {
  test('a request ID is echoed, or made', async () => {
    const echoed = await server.call('GET', '/sandboxes', undefined, { 'x-request-id': 'abc-123' });
    expect(echoed.headers.get('x-request-id')).toBe('abc-123');
    expect((await server.call('GET', '/nothing')).headers.get('x-request-id')).toMatch(/.{8}/);
  });

  test('unknown ones are 404, wrong methods 405, trailing slashes redirected', async () => {
    expect(await server.call('GET', '/v1/nothing')).toMatchObject({
      status: 404,
      json: { detail: 'Not Found' },
    });
    const put = await server.call('PUT', '/v1/sandboxes');
    expect(put).toMatchObject({ status: 405, json: { detail: 'Method Not Allowed' } });
    expect(put.headers.get('allow')).toContain('POST');
    expect(await server.call('HEAD', '/v1/sandboxes')).toMatchObject({ status: 405, text: '' });
    for (const method of ['HEAD', 'OPTIONS']) {
      expect(await server.call(method, '/sandboxes/x/proxy/8000/x')).toMatchObject({ status: 405 });
    }
    const slash = await server.call('GET', '/v1/sandboxes/');
    expect([slash.status, slash.headers.get('location')]).toEqual([307, `${server.url}/v1/sandboxes`]);
  });

  test('bad ports are refused', async () => {
    const id = await server.create({ entrypoint: ['sleep', '100'] });
    const invalid = { code: 'LOCAL::INVALID_PORT', message: 'Port must be between 1 and 65535.' };
    for (const path of ['endpoints/0', 'endpoints/70000', 'proxy/0/x']) {
      expect(await server.call('GET', `/sandboxes/${id}/${path}`)).toMatchObject({
        status: 400,
        json: invalid,
      });
    }
    const { status, json } = await server.call('GET', `/sandboxes/${id}/endpoints/abc`);
    expect([status, json.detail[0].type, json.detail[0].loc]).toEqual([422, 'int_parsing', ['path', 'port']]);
    await server.call('DELETE', `/sandboxes/${id}`);
  });
});

describe('a create request', () => {
  const issue = (type: string, loc: unknown[], msg: string) => ({ detail: [{ type, loc, msg }] });
  const value = (message: string) => issue('value_error', ['body'], `Value error, ${message}`);
  test.each([
    ['without a body', '', issue('missing', ['body'], 'Field required')],
    ['that is no JSON', '{oops', issue('json_invalid', ['body', 1], 'JSON decode error')],
    [
      'that is an array',
      [],
      issue(
        'model_attributes_type',
        ['body'],
        'Input should be a valid dictionary or object to extract fields from',
      ),
    ],
    [
      'without an image',
      createSpec({ image: undefined }),
      value('Exactly one of image or snapshotId must be provided.'),
    ],
    [
      'without an entrypoint',
      createSpec({ entrypoint: undefined }),
      value('Entrypoint is required when image is provided.'),
    ],
    [
      'without resourceLimits',
      createSpec({ resourceLimits: undefined }),
      value('resourceLimits is required when poolRef is not provided.'),
    ],
    [
      'with an empty entrypoint',
      createSpec({ entrypoint: [] }),
      issue('too_short', ['body', 'entrypoint'], 'List should have at least 1 item after validation, not 0'),
    ],
    [
      'with a text as entrypoint',
      createSpec({ entrypoint: 'sleep 1' }),
      issue('list_type', ['body', 'entrypoint'], 'Input should be a valid list'),
    ],
    [
      'with a number for cpu',
      createSpec({ resourceLimits: { cpu: 1 } }),
      issue('string_type', ['body', 'resourceLimits', 'cpu'], 'Input should be a valid string'),
    ],
    [
      'with an extension that is no text',
      createSpec({ extensions: { persistence: true } }),
      issue('string_type', ['body', 'extensions', 'persistence'], 'Input should be a valid string'),
    ],
    [
      'with a timeout of 10 s',
      createSpec({ timeout: 10 }),
      issue('greater_than_equal', ['body', 'timeout'], 'Input should be greater than or equal to 60'),
    ],
  ])('%s is refused with 422', async (_what, body, expected) => {
    expect(await server.call('POST', '/sandboxes', body)).toMatchObject({ status: 422, json: expected });
  });

  test('is never echoed in a 422', async () => {
    const spec = createSpec({ entrypoint: undefined, env: { TOKEN: 'very-secret' } });
    expect((await server.call('POST', '/sandboxes', spec)).text).not.toContain('very-secret');
    const wrong = createSpec({ env: { TOKEN: ['very-secret'] } });
    expect((await server.call('POST', '/sandboxes', wrong)).text).not.toContain('very-secret');
  });

  test.each([
    [{ resourceLimits: { cpu: 'lots' } }, 'SANDBOX::INVALID_PARAMETER', "resourceLimits.cpu: 'lots'"],
    [{ resourceLimits: { memory: '-1Gi' } }, 'SANDBOX::INVALID_PARAMETER', 'resourceLimits.memory'],
    [{ entrypoint: ['echo', 'x'.repeat(131_072)] }, 'SANDBOX::INVALID_PARAMETER', 'write a file instead'],
    [{ env: { A: 'a\0b' } }, 'SANDBOX::INVALID_PARAMETER', 'NUL'],
    [{ metadata: { 'opensandbox.io/x': 'y' } }, 'SANDBOX::INVALID_METADATA_LABEL', 'reserved prefix'],
    [{ metadata: { a: 'has space' } }, 'SANDBOX::INVALID_METADATA_LABEL', "'has space' is invalid"],
    [{ metadata: { a: 'x'.repeat(64) } }, 'SANDBOX::INVALID_METADATA_LABEL', '63 characters or less'],
  ])('of no use is refused with 400 (%#)', async (fields, code, words) => {
    const { status, json } = await server.call('POST', '/sandboxes', createSpec(fields));
    expect([status, json.code]).toEqual([400, code]);
    expect(json.message).toContain(words);
  });

  test('with unknown fields is taken', async () => {
    const id = await server.create({ entrypoint: ['true'], unknown: { field: 1 } });
    await server.call('DELETE', `/sandboxes/${id}`);
  });
});

describe('the list', () => {
  test('pages, newest first, and filters by state and metadata', async () => {
    const ids: string[] = [];
    for (const who of ['a', 'b', 'c']) {
      ids.unshift(await server.create({ entrypoint: ['sleep', '100'], metadata: { who, suite: 'list' } }));
    }
    const failed = await server.create({ entrypoint: ['false'], metadata: { who: 'd', suite: 'list' } });
    await server.untilState(failed, 'Failed');
    const list = async (query: string) => (await server.call('GET', `/sandboxes?${query}`)).json;
    const idsOf = async (query: string) => (await list(query)).items.map((item: { id: string }) => item.id);

    expect(await idsOf('metadata=suite%3Dlist')).toEqual([failed, ...ids]);
    expect((await list('metadata=suite%3Dlist&page=2&pageSize=3')).pagination).toEqual({
      page: 2,
      pageSize: 3,
      totalItems: 4,
      totalPages: 2,
      hasNextPage: false,
    });
    expect(await idsOf('metadata=suite%3Dlist&page=2&pageSize=3')).toEqual([ids[2]]);
    expect((await list('metadata=suite%3Dlist&page=1&pageSize=3')).pagination.hasNextPage).toBe(true);
    expect(await idsOf('metadata=suite%3Dlist&page=99')).toEqual([]);
    expect(await idsOf('metadata=who%3Da%26suite%3Dlist')).toEqual([ids[2]]);
    expect(await idsOf('metadata=suite%3Dlist&state=Paused&state=Failed')).toEqual([failed]);
    expect(await idsOf('state=failed')).toEqual([]);
    for (const query of ['page=0', 'pageSize=201', 'pageSize=abc']) {
      expect(await server.call('GET', `/sandboxes?${query}`)).toMatchObject({ status: 422 });
    }
    expect((await server.call('GET', '/sandboxes?metadata=a%3D1%26broken')).json).toEqual({
      code: 'INVALID_METADATA_FORMAT',
      message: "Invalid metadata format: bad query field: 'broken'",
    });
    for (const id of [failed, ...ids]) await server.call('DELETE', `/sandboxes/${id}`);
  });
});

describe('expiry', () => {
  test('deletes a sandbox when its renewed time is over, even while it is paused', async () => {
    const forever = await server.create({ entrypoint: ['sleep', '100'] });
    const soon = { expiresAt: new Date(Date.now() + 700).toISOString() };
    expect(await server.call('POST', `/sandboxes/${forever}/renew-expiration`, soon)).toMatchObject({
      status: 409,
    });

    const id = await server.create({ timeout: 60 });
    await server.call('POST', `/sandboxes/${id}/pause`);
    await server.untilState(id, 'Paused');
    soon.expiresAt = new Date(Date.now() + 300).toISOString();
    expect((await server.call('POST', `/sandboxes/${id}/renew-expiration`, soon)).json).toEqual(soon);
    expect((await server.call('GET', `/sandboxes/${id}`)).json.expiresAt).toBe(soon.expiresAt);
    await until(async () => (await server.state(id)) === '404', 'expiry');
    expect(await server.state(forever)).toBe('Running');
    await server.call('DELETE', `/sandboxes/${forever}`);
  });
});
