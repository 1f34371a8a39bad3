/**
 * Requests that are sent to a real server and to the local one, which must answer with the same status, code and
 * place of the error, or differ for the reason that is given. They reach further than what was recorded.
 */

export interface ComparedRequest {
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** `{id}` stands for a running sandbox. */
  readonly path: string;
  /** What a create has besides, or instead of, what makes it a good one. */
  readonly create?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  /** Why the answers differ; absent: they do not. */
  readonly because?: string;
}

const SAME_REFUSAL = 'refused by both, in other words';
const LAX = 'upstream reads numbers and truth values in strings too';

/** @param because given: they differ. */
function create(name: string, fields: Readonly<Record<string, unknown>>, because?: string): ComparedRequest {
  const difference = because === undefined ? {} : { because };
  return { name: `create, ${name}`, method: 'POST', path: '/sandboxes', create: fields, ...difference };
}

function get(path: string, because?: string): ComparedRequest {
  return { name: `GET ${path}`, method: 'GET', path, ...(because === undefined ? {} : { because }) };
}

function renew(expiresAt: unknown, because?: string): ComparedRequest {
  const path = '/sandboxes/{id}/renew-expiration';
  const difference = because === undefined ? {} : { because };
  return { name: `renew until ${expiresAt}`, method: 'POST', path, body: { expiresAt }, ...difference };
}

const claim = { claimName: 'longhaul-compared', createIfNotExists: true, deleteOnSandboxTermination: true };
function volume(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return { volumes: [{ name: 'w', mountPath: '/workspace', pvc: claim, ...fields }] };
}

export const COMPARED: readonly ComparedRequest[] = [
  create('environment null', { env: null }),
  create('value of the environment null', { env: { A: null } }),
  create('value of the environment a number', { env: { A: 1 } }),
  create('environment a list', { env: [] }),
  create('name in the environment with a space', { env: { 'A B': '1' } }, 'no shell can hand it on'),
  create('labels null', { metadata: null }),
  create('label without a name', { metadata: { '': 'a' } }),
  create('label with two slashes', { metadata: { 'a/b/c': 'd' } }),
  create('label with a long value', { metadata: { a: 'v'.repeat(64) } }),
  create('timeout null', { timeout: null }),
  create('timeout 59', { timeout: 59 }),
  create('timeout in a string', { timeout: '60' }, LAX),
  create('no limits', { resourceLimits: {} }),
  create('memory 0', { resourceLimits: { memory: '0' } }),
  create('memory in lower case', { resourceLimits: { memory: '256mi' } }),
  create('memory a fraction', { resourceLimits: { memory: '0.5Gi' } }),
  create('memory below zero', { resourceLimits: { memory: '-1Mi' } }),
  create('limits null', { resourceLimits: null }, SAME_REFUSAL),
  create('image a string', { image: 'x' }),
  create('image null', { image: null }, SAME_REFUSAL),
  create('image blank', { image: { uri: ' ' } }, SAME_REFUSAL),
  create('image and snapshot', { snapshotId: 'x' }),
  create('entrypoint of numbers', { entrypoint: [1] }),
  create('entrypoint null', { entrypoint: null }, SAME_REFUSAL),
  create('extensions null', { extensions: null }),
  create('extension a number', { extensions: { x: 1 } }),
  create('network policy', { networkPolicy: { defaultAction: 'deny', egress: [] } }),
  create('volumes null', { volumes: null }),
  create('volume of no kind', volume({ pvc: undefined })),
  create('volume of two kinds', volume({ host: { path: '/tmp' } })),
  create('volume without a name', volume({ name: undefined })),
  create('volume with a bad name', volume({ name: 'W_' })),
  create('volume at a relative path', volume({ mountPath: 'workspace' })),
  create('volume with dots in its path', volume({ subPath: '../b' })),
  create('volume read-only', volume({ readOnly: true }), 'better refused than writable'),
  create('claim of too long a name', volume({ pvc: { ...claim, claimName: 'a'.repeat(260) } })),
  create('claim of a bad size', volume({ pvc: { ...claim, storage: 'lots' } })),
  create('truth value in a string', volume({ pvc: { ...claim, createIfNotExists: 'true' } }), LAX),
  get('/sandboxes?page=0'),
  get('/sandboxes?page=1.5'),
  get('/sandboxes?page=%201', LAX),
  get('/sandboxes?pageSize=201'),
  get('/sandboxes?metadata=%3D'),
  get('/sandboxes?metadata=a'),
  get('/sandboxes?state=Bogus&metadata=of%3Dnobody'),
  get('/sandboxes/%20'),
  get('/sandboxes/a%2Fb', 'an ID with a slash is one here, and another route there'),
  get('/sandboxes/{id}/nothing'),
  get('/sandboxes/{id}/pause'),
  get('/sandboxes/{id}/endpoints/0'),
  get('/sandboxes/{id}/endpoints/1.5'),
  get('/sandboxes/{id}/endpoints/8000?use_server_proxy=bogus'),
  get('/sandboxes/{id}/proxy/65536/x'),
  get('/sandboxes/{id}/proxy/9/x'),
  get('/sandboxes/{id}/proxy/8000/no-such-file'),
  get('/sandboxes/{id}/diagnostics/bogus'),
  get('/sandboxes/{id}/diagnostics/logs?tail=0'),
  get('/sandboxes/{id}/diagnostics/logs?scope=bogus'),
  get('/sandboxes/{id}/diagnostics/logs?scope=CONTAINER', 'a spelling that nobody sends'),
  get('/sandboxes/{id}/diagnostics/events?limit=0', 'there are never many, and all are given'),
  get('/sandboxes/{id}/diagnostics/summary'),
  renew(null, SAME_REFUSAL),
  renew('tomorrow'),
  renew('2020-01-01T00:00:00Z'),
  renew(1, LAX),
  { name: 'renew without a body', method: 'POST', path: '/sandboxes/{id}/renew-expiration' },
  { name: 'resume of a running one', method: 'POST', path: '/sandboxes/{id}/resume' },
  { name: 'delete of none', method: 'DELETE', path: '/sandboxes/of-nobody' },
];
