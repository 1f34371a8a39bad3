/** Recorded: authentication, paths, create, get, list, renew, metadata. */

import { AGENT } from './support.js';
import { MISSING, NOT_FOUND, recorded, type WireCase } from './wire-case.js';

const LABELS = { suite: 'wire' };
const SPEC = {
  image: { uri: 'localhost/osb-agent:bookworm' },
  entrypoint: ['node', '-e', AGENT],
  resourceLimits: { cpu: '500m', memory: '256Mi' },
  timeout: 3600,
  metadata: LABELS,
};
const SLEEPER = { ...SPEC, entrypoint: ['sleep', '1000'] };
const NONE = '/v1/sandboxes?pageSize=1&metadata=zz%3Dnone';
const PAGE = { status: 200, keys: 'items pagination' };
const DOWN = { status: 404, detail: 'Not Found' };
const ALLOW = 'Allow names all methods of the path, and not those of the first route alone.';

export const authAndPaths: WireCase[] = [
  recorded('no key', 'GET /v1/sandboxes', MISSING, { keyless: true }),
  recorded('empty key', 'GET /v1/sandboxes', MISSING, { headers: { 'open-sandbox-api-key': '' } }),
  recorded(
    'wrong key',
    'GET /v1/sandboxes',
    { status: 401, code: 'INVALID_API_KEY' },
    {
      headers: { 'open-sandbox-api-key': 'x' },
    },
  ),
  recorded('right key', `GET ${NONE}`, PAGE),
  recorded('Authorization instead', 'GET /v1/sandboxes', MISSING, {
    keyless: true,
    headers: { authorization: 'Bearer test-key' },
  }),
  recorded('health, no key', 'GET /health', { status: 200, keys: 'status' }, { keyless: true }),
  recorded('version, no key', 'GET /version', { status: 200, keys: 'version' }, { keyless: true }),
  recorded('/v1/health with key', 'GET /v1/health', DOWN),
  recorded(
    'request id echoed',
    `GET ${NONE}`,
    { ...PAGE, headers: { 'x-request-id': 'abc-123' } },
    { headers: { 'x-request-id': 'abc-123' } },
  ),
  recorded('bare path', 'GET /sandboxes?metadata=zz%3Dnone', PAGE),
  recorded('trailing slash', 'GET /v1/sandboxes/', {
    status: 307,
    text: /^$/,
    headers: { location: /\/v1\/sandboxes$/ },
  }),
  recorded('unknown route', 'GET /v1/nothing', DOWN),
  recorded(
    'method not allowed',
    'PUT /v1/sandboxes',
    { status: 405, detail: 'Method Not Allowed', headers: { allow: 'POST' } },
    {
      here: { status: 405, detail: 'Method Not Allowed', headers: { allow: 'POST, GET' } },
      because: ALLOW,
    },
  ),
  recorded(
    'HEAD list',
    'HEAD /v1/sandboxes',
    { status: 405, text: /^$/, headers: { allow: 'POST' } },
    { here: { status: 405, text: /^$/, headers: { allow: 'POST, GET' } }, because: ALLOW },
  ),
];

const bad = (name: string, fields: object, answer: WireCase['recorded'], more = {}) =>
  recorded(name, 'POST /v1/sandboxes', answer, { body: { ...SPEC, ...fields }, ...more });
const malformed = (name: string, body: unknown, type: string, loc: string, headers = {}) =>
  recorded(name, 'POST /v1/sandboxes', { status: 422, issue: [type, loc] }, { body, headers });
const invalid = (type: string, loc: string) => ({ status: 422, issue: [type, loc] }) as const;
const parameter = { status: 400, code: 'INVALID_PARAMETER' };
const label = { status: 400, code: 'INVALID_METADATA_LABEL' };
const OWN_CREATED = { status: 202, keys: 'createdAt entrypoint id image metadata status', state: 'Running' };
const NO_PULL = 'Any image name is accepted, and nothing is pulled.';

export const refusedCreates: WireCase[] = [
  malformed('empty body', '', 'missing', 'body'),
  malformed('invalid JSON', '{oops', 'json_invalid', 'body.1'),
  malformed('JSON array', [], 'model_attributes_type', 'body'),
  malformed('no content type', '{"image": {"uri": "x"}}', 'model_attributes_type', 'body', {
    'content-type': 'text/plain',
  }),
  malformed('{}', {}, 'value_error', 'body'),
  bad('no image', { image: undefined }, invalid('value_error', 'body')),
  bad('no entrypoint', { entrypoint: undefined }, invalid('value_error', 'body')),
  bad('empty entrypoint', { entrypoint: [] }, invalid('too_short', 'body.entrypoint')),
  bad('entrypoint a string', { entrypoint: 'sleep 1' }, invalid('list_type', 'body.entrypoint')),
  bad('no resourceLimits', { resourceLimits: undefined }, invalid('value_error', 'body')),
  bad('bad cpu', { resourceLimits: { cpu: 'lots' } }, parameter),
  bad('cpu a number', { resourceLimits: { cpu: 1 } }, invalid('string_type', 'body.resourceLimits.cpu')),
  bad('timeout 10', { timeout: 10 }, invalid('greater_than_equal', 'body.timeout')),
  bad("timeout over the server's limit", { timeout: 864_000 }, parameter, {
    here: { ...OWN_CREATED, keys: 'createdAt entrypoint expiresAt id image metadata status' },
    because: 'There is no longest timeout.',
  }),
  bad('metadata key reserved', { metadata: { 'opensandbox.io/x': 'y' } }, label),
  bad('metadata value not a label', { metadata: { a: 'has space' } }, label),
  bad('metadata value a number', { metadata: { a: 1 } }, invalid('string_type', 'body.metadata.a')),
  bad(
    'extension not a string',
    { extensions: { persistence: true } },
    invalid('string_type', 'body.extensions.persistence'),
  ),
  bad(
    'image that cannot be pulled',
    { image: { uri: 'localhost/none:1' } },
    { status: 500, code: 'SANDBOX_IMAGE_PULL_FAILED' },
    {
      here: { ...OWN_CREATED, keys: 'createdAt entrypoint expiresAt id image metadata status' },
      because: NO_PULL,
    },
  ),
  bad('secureAccess', { secureAccess: true }, parameter),
  bad('poolRef', { poolRef: 'p' }, { status: 400, code: 'UNSUPPORTED_POOL_REF' }),
  recorded(
    'templateId',
    'POST /v1/sandboxes',
    { status: 400, code: 'INVALID_ENTRYPOINT' },
    {
      body: { templateId: 't', resourceLimits: {} },
      here: invalid('value_error', 'body'),
      because: 'There are no templates.',
    },
  ),
  bad('snapshotId unknown', { image: undefined, snapshotId: 's' }, { status: 404, code: 'NOT_FOUND' }),
  bad(
    'host volume outside the allow list',
    { volumes: [{ name: 'v', mountPath: '/v', host: { path: '/etc' } }] },
    { status: 400, code: 'HOST_PATH_NOT_ALLOWED' },
  ),
];

const CREATED = 'createdAt entrypoint expiresAt id metadata status';
const WITH_IMAGE = "The reply names the image, as the vendor's page shows.";
const created = (name: string, fields: object, saves: string, keys = CREATED, more: object = {}) =>
  recorded(
    name,
    'POST /v1/sandboxes',
    { status: 202, keys, state: 'Running' },
    {
      body: { ...SLEEPER, ...fields },
      here: { status: 202, keys: keys.replace(' id', ' id image'), state: 'Running' },
      because: WITH_IMAGE,
      saves,
      ...more,
    },
  );

export const creates: WireCase[] = [
  created('full', { ...SPEC, metadata: { ...LABELS, who: 'a' } }, 'a', CREATED, { until: ['a', 'Running'] }),
  created(
    'no timeout (manual cleanup)',
    { timeout: undefined, metadata: { ...LABELS, who: 'b' } },
    'b',
    'createdAt entrypoint id metadata status',
  ),
  created(
    'empty resourceLimits, no metadata',
    { resourceLimits: {}, metadata: undefined },
    'm',
    'createdAt entrypoint expiresAt id status',
  ),
  created('unknown field ignored', { nonsense: 1 }, 'u'),
  created('persistence extensions', { extensions: { persistence: 'true', storageSize: '1Gi' } }, 'p'),
  created('entrypoint exits 0', { entrypoint: ['sh', '-c', 'exit 0'] }, 'exit0', CREATED, {
    until: ['exit0', 'Terminated'],
  }),
  created('entrypoint exits 3', { entrypoint: ['sh', '-c', 'exit 3'] }, 'exit3', CREATED, {
    until: ['exit3', 'Failed'],
  }),
  created('entrypoint does not exist', { entrypoint: ['/no/such/program'] }, 'noprog', CREATED, {
    until: ['noprog', 'Failed'],
  }),
];

const SHOWN = 'createdAt entrypoint expiresAt id image metadata status';
const shown = (name: string, id: string, state: string, keys = SHOWN) =>
  recorded(name, `GET /v1/sandboxes/{${id}}`, { status: 200, keys, state });
const listed = (name: string, query: string) => recorded(name, `GET /v1/sandboxes?${query}`, PAGE);
const query = (name: string, text: string, type: string, loc: string) =>
  recorded(name, `GET /v1/sandboxes?${text}`, invalid(type, loc));

export const reads: WireCase[] = [
  shown('get running', 'a', 'Running'),
  shown('get of persistent: extensions not echoed', 'p', 'Running'),
  shown('get without expiry', 'b', 'Running', 'createdAt entrypoint id image metadata status'),
  shown('get exited 0', 'exit0', 'Terminated'),
  shown('get exited 3', 'exit3', 'Failed'),
  shown('get no such program', 'noprog', 'Failed'),
  recorded('get unknown id', 'GET /v1/sandboxes/{unknown}', NOT_FOUND),
  recorded('get id that is no uuid', 'GET /v1/sandboxes/nope', NOT_FOUND),
  listed('metadata who=a', 'metadata=who%3Da'),
  listed('metadata two keys', 'metadata=who%3Da%26suite%3Dwire'),
  listed('metadata no match', 'metadata=who%3Dzz'),
  recorded('metadata malformed', 'GET /v1/sandboxes?metadata=a%3D1%26broken', {
    status: 400,
    code: 'INVALID_METADATA_FORMAT',
  }),
  listed('page 1 of size 2', 'metadata=suite%3Dwire&page=1&pageSize=2'),
  listed('page beyond the end', 'metadata=suite%3Dwire&page=99&pageSize=2'),
  query('page 0', 'page=0', 'greater_than_equal', 'query.page'),
  query('pageSize 201', 'pageSize=201', 'less_than_equal', 'query.pageSize'),
  query('pageSize abc', 'pageSize=abc', 'int_parsing', 'query.pageSize'),
  listed('state=Failed', 'state=Failed&metadata=suite%3Dwire'),
  listed('two states (or)', 'state=Paused&state=Failed&metadata=suite%3Dwire&pageSize=1'),
  listed('state=paused (case)', 'state=paused'),
  listed('state=Bogus', 'state=Bogus'),
];

const inTwoHours = new Date(Date.now() + 7_200_000).toISOString();
const renewal = (name: string, expiresAt: unknown, answer: WireCase['recorded'], id = 'a') =>
  recorded(name, `POST /v1/sandboxes/{${id}}/renew-expiration`, answer, { body: { expiresAt } });
const RENEWED = { status: 200, keys: 'expiresAt' };

export const changes: WireCase[] = [
  renewal('renew in 2 h', inTwoHours, RENEWED),
  renewal('renew beyond the longest timeout', '2030-01-01T00:00:00Z', RENEWED),
  renewal('renew earlier than now', '2020-01-01T00:00:00Z', { status: 400, code: 'INVALID_EXPIRATION' }),
  renewal('renew without a zone', '2030-01-01T00:00:00', {
    ...RENEWED,
    text: /2030-01-01T00:00:00(\.000)?Z/,
  }),
  renewal('renew garbage', 'soon', invalid('datetime_from_date_parsing', 'body.expiresAt')),
  renewal('renew empty', undefined, invalid('missing', 'body.expiresAt')),
  renewal('renew of one without expiry', inTwoHours, { status: 409, code: 'INVALID_EXPIRATION' }, 'b'),
  renewal('renew unknown id', inTwoHours, NOT_FOUND, 'unknown'),
  recorded(
    'metadata merge patch',
    'PATCH /v1/sandboxes/{a}/metadata',
    { status: 200, keys: SHOWN, text: /"metadata":\{"suite":"wire","k":"v"\}/ },
    { body: { who: null, k: 'v' } },
  ),
  recorded('metadata reserved key', 'PATCH /v1/sandboxes/{a}/metadata', label, {
    body: { 'opensandbox.io/id': 'x' },
  }),
  recorded('filter sees the patch', 'GET /v1/sandboxes?metadata=k%3Dv', { ...PAGE, text: /"totalItems":1/ }),
];
