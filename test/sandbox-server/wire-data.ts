/** Recorded: endpoints, proxy, diagnostics, pause and resume (as docker pauses), volumes, deletion. */

import { MISSING, NOT_FOUND, recorded, type WireAnswer, type WireCase } from './wire-case.js';

const GATEWAY = 'Endpoints are the gateway and a header, as on the vendor’s page.';
const endpoint = (name: string, request: string, answer: WireAnswer, more = {}) =>
  recorded(`endpoint ${name}`, `GET ${request}`, answer, more);
const throughGateway = (name: string, port: number, id = 'a') =>
  endpoint(
    name,
    `/v1/sandboxes/{${id}}/endpoints/${port}`,
    { status: 200, keys: 'endpoint' },
    {
      here: { status: 200, keys: 'endpoint headers' },
      because: GATEWAY,
    },
  );
const INVALID_PORT = { status: 400, code: 'INVALID_PORT' };
const NO_PORT = { status: 422, issue: ['int_parsing', 'path.port'] } as const;

export const endpoints: WireCase[] = [
  throughGateway('8000', 8000),
  endpoint('via server proxy', '/v1/sandboxes/{a}/endpoints/8000?use_server_proxy=true', {
    status: 200,
    keys: 'endpoint',
    text: /"127\.0\.0\.1:\d+\/v1\/sandboxes\/[^/]+\/proxy\/8000"/,
  }),
  endpoint('bare path via server proxy', '/sandboxes/{a}/endpoints/8000?use_server_proxy=true', {
    status: 200,
    keys: 'endpoint',
    text: /"127\.0\.0\.1:\d+\/sandboxes\/[^/]+\/proxy\/8000"/,
  }),
  throughGateway('of a port nobody listens on', 9999),
  throughGateway('8080', 8080),
  throughGateway('44772', 44_772),
  endpoint('0', '/v1/sandboxes/{a}/endpoints/0', INVALID_PORT),
  endpoint('70000', '/v1/sandboxes/{a}/endpoints/70000', INVALID_PORT),
  endpoint('abc', '/v1/sandboxes/{a}/endpoints/abc', NO_PORT),
  endpoint('expires', '/v1/sandboxes/{a}/endpoints/8000?expires=2000000000', {
    status: 400,
    code: 'API_NOT_SUPPORTED',
  }),
  endpoint(
    'expires and server proxy',
    '/v1/sandboxes/{a}/endpoints/8000?expires=2000000000&use_server_proxy=true',
    { status: 400, code: 'INVALID_PARAMETER' },
  ),
  endpoint('unknown id', '/v1/sandboxes/{unknown}/endpoints/8000', NOT_FOUND),
  throughGateway('of an exited sandbox', 8000, 'exit0'),
];

const KEY_ASKED = 'The proxy asks for the API key, as the vendor’s page says of every request.';
const proxied = (name: string, request: string, answer: WireAnswer, more = {}) => {
  const [method, path] = request.split(' ');
  return recorded(`proxy ${name}`, `${method} /v1/sandboxes/${path}`, answer, more);
};
const STATE = { status: 200, keys: 'pid starts', headers: { 'content-type': 'application/json' } };
const NOT_ALLOWED = { status: 405, headers: { allow: 'GET, DELETE, POST, PATCH, PUT' } };
const exitedCode = 'NETWORK_MODE_ENDPOINT_UNAVAILABLE';

export const proxies: WireCase[] = [
  proxied('state.json', 'GET {a}/proxy/8000/state.json', STATE),
  proxied('no API key', 'GET {a}/proxy/8000/state.json', STATE, {
    keyless: true,
    here: MISSING,
    because: KEY_ASKED,
  }),
  proxied('wrong API key', 'GET {a}/proxy/8000/state.json', STATE, {
    headers: { 'open-sandbox-api-key': 'x' },
    here: { status: 401, code: 'INVALID_API_KEY' },
    because: KEY_ASKED,
  }),
  recorded('proxy bare path', 'GET /sandboxes/{a}/proxy/8000/state.json', STATE),
  proxied('root, no slash', 'GET {a}/proxy/8000', { status: 418 }),
  proxied('root, slash', 'GET {a}/proxy/8000/', { status: 418 }),
  proxied(
    'what the agent sees',
    'GET {a}/proxy/8000/echo/a%20b/%2Fc?x=1&x=2&y',
    {
      status: 200,
      text: /"url":"\/echo\/a%20b\/\/c\?x=1&x=2&y".*"x-forwarded-proto":"http".*"x-forwarded-for":"9\.9\.9\.9"/,
    },
    { headers: { 'x-mine': '1', 'x-forwarded-for': '9.9.9.9' } },
  ),
  proxied("agent's 404", 'GET {a}/proxy/8000/missing.txt', {
    status: 404,
    headers: { 'content-type': /^text\/html/ },
  }),
  proxied("agent's 418", 'GET {a}/proxy/8000/teapot', { status: 418 }),
  proxied("agent's redirect rewritten", 'GET {a}/proxy/8000/redirect', {
    status: 302,
    headers: { location: /^\/v1\/sandboxes\/[^/]+\/proxy\/8000\/elsewhere$/, 'set-cookie': 'a=1, b=2' },
  }),
  proxied(
    'POST with a body',
    'POST {a}/proxy/8000/echo',
    { status: 200, text: /"POST".*"body":"some text"/ },
    {
      body: 'some text',
    },
  ),
  proxied('DELETE passes', 'DELETE {a}/proxy/8000/echo', { status: 200, text: /"DELETE"/ }),
  proxied('HEAD', 'HEAD {a}/proxy/8000/state.json', NOT_ALLOWED),
  proxied('OPTIONS', 'OPTIONS {a}/proxy/8000/state.json', { ...NOT_ALLOWED, detail: 'Method Not Allowed' }),
  proxied('port nobody listens on', 'GET {a}/proxy/9999/x', {
    status: 502,
    code: 'BACKEND_CONNECTION_FAILED',
  }),
  proxied('port 0', 'GET {a}/proxy/0/x', INVALID_PORT),
  proxied('port abc', 'GET {a}/proxy/abc/x', NO_PORT),
  proxied('port abc, no key', 'GET {a}/proxy/abc/x', MISSING, { keyless: true }),
  proxied('unknown id', 'GET {unknown}/proxy/8000/x', NOT_FOUND),
  proxied('unknown id, no key', 'GET {unknown}/proxy/8000/x', NOT_FOUND, {
    keyless: true,
    here: MISSING,
    because: KEY_ASKED,
  }),
  proxied('exited sandbox', 'GET {exit0}/proxy/8000/x', { status: 500, code: exitedCode }),
  proxied('backend closes before answering', 'GET {a}/proxy/8000/drop', {
    status: 502,
    code: 'BACKEND_RESPONSE_FAILED',
  }),
];

const TEXT = {
  status: 200,
  headers: { deprecation: 'true', 'content-type': 'text/plain; charset=utf-8' },
};
const SCOPED = {
  status: 200,
  keys: 'content contentLength contentType delivery kind sandboxId scope truncated',
};
const told = (name: string, id: string, rest: string, answer: WireAnswer, more = {}) =>
  recorded(`${name}`, `GET /v1/sandboxes/{${id}}/diagnostics/${rest}`, answer, more);

export const diagnostics: WireCase[] = [
  told('logs', 'a', 'logs?tail=3', TEXT),
  told('logs?scope=container', 'exit3', 'logs?scope=container', { ...SCOPED, text: /"\(no logs\)"/ }),
  told('logs?scope=bogus', 'a', 'logs?scope=bogus', { status: 400, code: 'DIAGNOSTICS_SCOPE_UNSUPPORTED' }),
  told('logs tail=0', 'a', 'logs?tail=0', { status: 422, issue: ['greater_than_equal', 'query.tail'] }),
  told(
    'events',
    'a',
    'events',
    { ...TEXT, text: /^Status: +running$/m },
    {
      here: { ...TEXT, text: /^Status: +Running$/m },
      because: 'The text tells of a sandbox, and not of a container.',
    },
  ),
  told('events?scope=runtime', 'a', 'events?scope=runtime', SCOPED),
  told('events of exited 3', 'exit3', 'events', { ...TEXT, text: /^Event: .*[Ee]xited with code 3/m }),
  told(
    'inspect',
    'b',
    'inspect',
    {
      status: 200,
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      text: /^OOMKilled: +False$/m,
    },
    {
      here: {
        status: 200,
        headers: { 'content-type': 'text/plain; charset=utf-8' },
        text: /^OOMKilled: +false$/m,
      },
      because: 'The text tells of a sandbox; values of environment variables are left out.',
    },
  ),
  told('unknown id logs', 'unknown', 'logs', NOT_FOUND),
  told('unknown id inspect', 'unknown', 'inspect', NOT_FOUND),
  told('diagnostics, no key', 'a', 'logs', MISSING, { keyless: true }),
];

const step = (name: string, id: string, verb: string, answer: WireAnswer, more = {}) =>
  recorded(name, `POST /v1/sandboxes/{${id}}/${verb}`, answer, more);
const DONE = { status: 202, text: /^$/ };
const NOT_PAUSED = { status: 409, code: 'SANDBOX_NOT_PAUSED' };
const NOT_RUNNING = { status: 409, code: 'SANDBOX_NOT_RUNNING' };
const shown = (name: string, state: string) =>
  recorded(name, 'GET /v1/sandboxes/{a}', {
    status: 200,
    keys: 'createdAt entrypoint expiresAt id image metadata status',
    state,
  });

export const pauses: WireCase[] = [
  step('resume while running', 'a', 'resume', NOT_PAUSED),
  step('pause', 'a', 'pause', DONE),
  shown('get at once after pause', 'Paused'),
  recorded('list state=Paused', 'GET /v1/sandboxes?state=Paused', { status: 200, text: /"totalItems":1/ }),
  step('pause again', 'a', 'pause', NOT_RUNNING),
  throughGateway('while paused', 8000),
  proxied('while paused, waited out', 'GET {a}/proxy/8000/state.json', {
    status: 504,
    code: 'BACKEND_TIMEOUT',
  }),
  proxied('while paused, port nobody listens on', 'GET {a}/proxy/9999/x', {
    status: 502,
    code: 'BACKEND_CONNECTION_FAILED',
  }),
  told('logs while paused', 'a', 'logs?tail=1', TEXT),
  told('events while paused', 'a', 'events', TEXT),
  step(
    'renew while paused',
    'a',
    'renew-expiration',
    { status: 200, keys: 'expiresAt' },
    {
      body: { expiresAt: '2030-01-01T00:00:00Z' },
    },
  ),
  step('resume', 'a', 'resume', DONE),
  shown('get at once after resume', 'Running'),
  proxied('after resume', 'GET {a}/proxy/8000/state.json', { ...STATE, text: /"starts":1/ }),
  step('resume again', 'a', 'resume', NOT_PAUSED),
  step('pause of exited 0', 'exit0', 'pause', NOT_RUNNING),
  step('resume of exited 0', 'exit0', 'resume', NOT_PAUSED),
  step('pause unknown', 'unknown', 'pause', NOT_FOUND),
  step('resume unknown', 'unknown', 'resume', NOT_FOUND),
  step('pause with a body', 'a', 'pause', DONE, { body: { reason: 'night' } }),
  step('pause, no key', 'a', 'pause', MISSING, { keyless: true }),
  step('resume once more', 'a', 'resume', DONE),
];

const BOOTS = `n=$(cat boots 2>/dev/null || echo 0); echo $((n+1)) >boots; exec node -e "
require('node:http').createServer((q, s) => s.end(require('node:fs').readFileSync('boots'))).listen(8000)"`;
const mounted = (name: string, saves: string, pvc: object, answer: WireAnswer) =>
  recorded(name, 'POST /v1/sandboxes', answer, {
    body: {
      image: { uri: 'x' },
      entrypoint: ['sh', '-c', BOOTS],
      resourceLimits: {},
      volumes: [{ name: 'w', mountPath: '/workspace', pvc: { claimName: 'wire', ...pvc } }],
    },
    ...(answer.status === 202 ? { saves, until: [saves, 'ready'] as const } : {}),
  });
const boots = (id: string, count: number) =>
  proxied(`boots ${count}`, `GET {${id}}/proxy/8000/boots`, {
    status: 200,
    text: new RegExp(`^${count}\n$`),
  });

export const volumes: WireCase[] = [
  mounted('create with a named volume', 'v1', {}, { status: 202 }),
  boots('v1', 1),
  recorded('delete: the volume stays', 'DELETE /v1/sandboxes/{v1}', { status: 204 }),
  mounted('create again, same claim', 'v2', {}, { status: 202 }),
  boots('v2', 2),
  mounted('a second one on the same volume', 'v3', {}, { status: 202 }),
  boots('v3', 3),
  mounted(
    'volume that does not exist',
    '',
    { claimName: 'no-such', createIfNotExists: false },
    {
      status: 400,
      code: 'PVC_NOT_FOUND',
    },
  ),
  mounted(
    'bad claim name',
    '',
    { claimName: 'Bad_Name' },
    {
      status: 422,
      issue: ['string_pattern_mismatch', 'body.volumes.0.pvc.claimName'],
    },
  ),
];

const gone = (name: string, request: string) => recorded(name, request, NOT_FOUND);
const NO_SNAPSHOTS = 'There are no snapshots and pools.';
const absent = (name: string, request: string, status: number) =>
  recorded(name, request, { status }, { here: { status: 404, detail: 'Not Found' }, because: NO_SNAPSHOTS });

export const theRest: WireCase[] = [
  absent('snapshot create', 'POST /v1/sandboxes/{b}/snapshots', 202),
  absent('snapshots list', 'GET /v1/snapshots', 200),
  absent('snapshot delete', 'DELETE /v1/snapshots/{unknown}', 204),
  absent('pools', 'GET /v1/pools', 501),
  recorded(
    'OpenAPI, no key',
    'HEAD /openapi.json',
    { status: 200 },
    {
      keyless: true,
      here: { status: 401 },
      because: 'It describes itself in its documentation only.',
    },
  ),
  recorded('delete, no key', 'DELETE /v1/sandboxes/{a}', MISSING, { keyless: true }),
  step('pause before deletion', 'a', 'pause', DONE),
  recorded('delete paused one', 'DELETE /v1/sandboxes/{a}', { status: 204, text: /^$/ }),
  gone('get after', 'GET /v1/sandboxes/{a}'),
  gone('delete again', 'DELETE /v1/sandboxes/{a}'),
  gone('pause after', 'POST /v1/sandboxes/{a}/pause'),
  gone('endpoint after', 'GET /v1/sandboxes/{a}/endpoints/8000'),
  gone('proxy after', 'GET /v1/sandboxes/{a}/proxy/8000/mem'),
  gone('logs after', 'GET /v1/sandboxes/{a}/diagnostics/logs'),
  gone('delete unknown id', 'DELETE /v1/sandboxes/{unknown}'),
  recorded('delete exited one', 'DELETE /v1/sandboxes/{exit3}', { status: 204 }),
  recorded('delete running one', 'DELETE /v1/sandboxes/{b}', { status: 204 }),
];
