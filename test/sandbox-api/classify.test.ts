import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { classify, readRetryAfterMs } from '../../activities/sandbox-api/classify.js';
import { conceal } from '../../activities/sandbox-api/conceal.js';
import {
  type RateLimitedError,
  SandboxApiError,
  type StartFailedError,
} from '../../activities/sandbox-api/index.js';

const CREATE = 'POST /sandboxes';
const GET = 'GET /sandboxes/{id}';
const PAUSE = 'POST /sandboxes/{id}/pause';
const RESUME = 'POST /sandboxes/{id}/resume';
const DELETE = 'DELETE /sandboxes/{id}';
const PROXY = 'GET /sandboxes/{id}/proxy/{port}/{path}';
const NOW_MS = Date.parse('2026-10-21T07:28:00Z');

function error(route: string, status: number, body: unknown, headers: Record<string, string> = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return classify({ status, headers, body: text }, route, NOW_MS);
}

const says = (code: string, message = 'm') => ({ code, message });
const validation = (loc: unknown[], msg = 'Field required') => ({
  detail: [{ type: 'x', loc, msg, input: {} }],
});

describe('an error of the API', () => {
  it.each([
    // A key that is missing, wrong, or not allowed to do this.
    [GET, 401, says('MISSING_API_KEY'), 'KeyRejectedError', 'MISSING_API_KEY'],
    [GET, 401, says('INVALID_API_KEY'), 'KeyRejectedError', 'INVALID_API_KEY'],
    [GET, 403, '', 'KeyRejectedError', null],
    // Limits.
    [CREATE, 403, says('KUBERNETES::QUOTA_EXCEEDED'), 'QuotaExceededError', 'QUOTA_EXCEEDED'],
    [CREATE, 429, says('KUBERNETES::POOL_CAPACITY_EXHAUSTED'), 'RateLimitedError', 'POOL_CAPACITY_EXHAUSTED'],
    [GET, 429, '<html>', 'RateLimitedError', null],
    // Gone, by the word of the API and nobody else's.
    [GET, 404, { ...says('SANDBOX_NOT_FOUND'), detail: 'd' }, 'SandboxNotFoundError', 'SANDBOX_NOT_FOUND'],
    [GET, 404, says('DOCKER::SANDBOX_NOT_FOUND'), 'SandboxNotFoundError', 'SANDBOX_NOT_FOUND'],
    [DELETE, 404, says('KUBERNETES::SANDBOX_NOT_FOUND'), 'SandboxNotFoundError', 'SANDBOX_NOT_FOUND'],
    [GET, 404, says('KUBERNETES::POD_IP_NOT_AVAILABLE'), 'UnreachableError', 'POD_IP_NOT_AVAILABLE'],
    [CREATE, 404, says('SNAPSHOT::NOT_FOUND'), 'UnreachableError', 'NOT_FOUND'],
    [GET, 404, { detail: 'Not Found' }, 'UnreachableError', null],
    [GET, 404, '<html>nginx</html>', 'UnreachableError', null],
    [GET, 404, '', 'UnreachableError', null],
    [GET, 200, says('SANDBOX_NOT_FOUND'), 'UnreachableError', 'SANDBOX_NOT_FOUND'],
    // Not now.
    [PAUSE, 409, says('DOCKER::SANDBOX_NOT_RUNNING'), 'ConflictError', 'SANDBOX_NOT_RUNNING'],
    [RESUME, 409, says('DOCKER::SANDBOX_NOT_PAUSED'), 'ConflictError', 'SANDBOX_NOT_PAUSED'],
    [PAUSE, 409, says('KUBERNETES::INVALID_STATE', 'Cannot pause'), 'ConflictError', 'INVALID_STATE'],
    [PAUSE, 400, says('KUBERNETES::INVALID_STATE', 'is Pausing'), 'ConflictError', 'INVALID_STATE'],
    [PAUSE, 409, says('DOCKER::INVALID_EXPIRATION'), 'ConflictError', 'INVALID_EXPIRATION'],
    // Never here.
    [
      PAUSE,
      400,
      says('KUBERNETES::INVALID_STATE', 'Pause is not supported for this sandbox type'),
      'UnsupportedError',
      'INVALID_STATE',
    ],
    [PAUSE, 400, says('SANDBOX::API_NOT_SUPPORTED'), 'UnsupportedError', 'API_NOT_SUPPORTED'],
    [PAUSE, 501, says('KUBERNETES::POOL_NOT_SUPPORTED'), 'UnsupportedError', 'POOL_NOT_SUPPORTED'],
    [PAUSE, 501, '', 'UnsupportedError', null],
    // It did not start.
    [CREATE, 504, says('POD_READY_TIMEOUT'), 'StartFailedError', 'POD_READY_TIMEOUT'],
    [CREATE, 504, says('KUBERNETES::POD_READY_TIMEOUT'), 'StartFailedError', 'POD_READY_TIMEOUT'],
    [CREATE, 500, says('KUBERNETES::POD_FAILED'), 'StartFailedError', 'POD_FAILED'],
    [CREATE, 500, says('DOCKER::SANDBOX_IMAGE_PULL_FAILED'), 'StartFailedError', 'SANDBOX_IMAGE_PULL_FAILED'],
    [CREATE, 500, says('DOCKER::SANDBOX_START_FAILED'), 'StartFailedError', 'SANDBOX_START_FAILED'],
    [
      CREATE,
      500,
      says('DOCKER::SANDBOX_EXECD_START_FAILED'),
      'StartFailedError',
      'SANDBOX_EXECD_START_FAILED',
    ],
    [
      CREATE,
      400,
      says('SANDBOX::INVALID_PARAMETER', 'Sandbox sb-1 is unschedulable: 0/3 nodes'),
      'StartFailedError',
      'INVALID_PARAMETER',
    ],
    [GET, 504, says('KUBERNETES::POD_READY_TIMEOUT'), 'UnreachableError', 'POD_READY_TIMEOUT'],
    // Nobody knows.
    [PAUSE, 500, says('DOCKER::SANDBOX_PAUSE_FAILED'), 'UnreachableError', 'SANDBOX_PAUSE_FAILED'],
    [RESUME, 500, says('DOCKER::SANDBOX_RESUME_FAILED'), 'UnreachableError', 'SANDBOX_RESUME_FAILED'],
    [DELETE, 500, says('DOCKER::SANDBOX_DELETE_FAILED'), 'UnreachableError', 'SANDBOX_DELETE_FAILED'],
    [PROXY, 502, says('BACKEND_CONNECTION_FAILED'), 'UnreachableError', 'BACKEND_CONNECTION_FAILED'],
    [PROXY, 502, says('BACKEND_RESPONSE_FAILED'), 'UnreachableError', 'BACKEND_RESPONSE_FAILED'],
    [PROXY, 504, says('BACKEND_TIMEOUT'), 'UnreachableError', 'BACKEND_TIMEOUT'],
    [PAUSE, 502, '<html>Bad gateway</html>', 'UnreachableError', null],
    [CREATE, 500, 'Internal Server Error', 'UnreachableError', null],
    [GET, 503, '', 'UnreachableError', null],
    [GET, 307, '', 'UnreachableError', null],
    [GET, 405, { detail: 'Method Not Allowed' }, 'UnreachableError', null],
    // Asked for something that cannot be.
    [CREATE, 400, says('SANDBOX::INVALID_PARAMETER', 'cpu'), 'RefusedError', 'INVALID_PARAMETER'],
    [CREATE, 400, says('SANDBOX::INVALID_METADATA_LABEL'), 'RefusedError', 'INVALID_METADATA_LABEL'],
    [CREATE, 400, says('SANDBOX::UNSUPPORTED_POOL_REF'), 'RefusedError', 'UNSUPPORTED_POOL_REF'],
    [CREATE, 400, says('DOCKER::INVALID_ENTRYPOINT'), 'RefusedError', 'INVALID_ENTRYPOINT'],
    [CREATE, 400, says('VOLUME::HOST_PATH_NOT_ALLOWED'), 'RefusedError', 'HOST_PATH_NOT_ALLOWED'],
    [CREATE, 400, says('VOLUME::PVC_NOT_FOUND'), 'RefusedError', 'PVC_NOT_FOUND'],
    [GET, 400, says('INVALID_METADATA_FORMAT'), 'RefusedError', 'INVALID_METADATA_FORMAT'],
    [GET, 400, says('DIAGNOSTICS_SCOPE_UNSUPPORTED'), 'RefusedError', 'DIAGNOSTICS_SCOPE_UNSUPPORTED'],
    [PROXY, 400, says('DOCKER::INVALID_PORT'), 'RefusedError', 'INVALID_PORT'],
    [CREATE, 422, validation(['body', 'timeout']), 'RefusedError', null],
    [CREATE, 422, validation(['body', 1]), 'RefusedError', null],
    [GET, 422, validation(['query', 'page']), 'RefusedError', null],
    [CREATE, 413, '', 'RefusedError', null],
  ] as const)('%s %i %j is a %s', (route, status, body, name, code) => {
    expect(error(route, status, body)).toMatchObject({ name, code, status, route });
  });

  it.each([
    [PAUSE, 502, true],
    [CREATE, 408, true],
    [CREATE, 303, true],
    [CREATE, 404, false],
    [PAUSE, 405, false],
  ] as const)('%s %i may have been carried out: %s', (route, status, ambiguous) => {
    expect(error(route, status, '')).toMatchObject({ name: 'UnreachableError', ambiguous });
  });

  it('says what came, to what, and in which form', () => {
    expect(error(PAUSE, 502, '<html>').message).toBe(
      'The sandbox API answered 502 to POST /sandboxes/{id}/pause (HTML, no code).',
    );
    expect(error(PAUSE, 502, '').message).toBe(
      'The sandbox API answered 502 to POST /sandboxes/{id}/pause (no code).',
    );
    expect(error(PAUSE, 409, { code: 'A::B', message: 'Not now.', detail: 'It is Pausing.' }).message).toBe(
      'The sandbox API answered 409 to POST /sandboxes/{id}/pause (B: Not now. – It is Pausing.).',
    );
  });

  it('names where and what of a validation error, but never what was sent', () => {
    const problem = {
      loc: ['body', 'env', 'TOKEN'],
      msg: 'Input should be a string',
      input: { TOKEN: 'sk-CANARY' },
    };
    const refused = error(CREATE, 422, { detail: [{ ...problem, ctx: { error: 'sk-CANARY' } }] });
    expect(refused.message).toContain('body.env.TOKEN: Input should be a string');
    expect(JSON.stringify(refused) + refused.message).not.toContain('CANARY');
  });

  it.each([
    '<html>secret page</html>',
    '',
    'plain words',
    '{"message":{"a":1}}',
    '[]',
    'null',
    '{"detail":[null,7,{"loc":{"a":1}}]}',
    '{"detail":[{"loc":[{"toString":1,"valueOf":1}],"msg":{"a":1}}]}',
    `{"detail":[{"loc":${'['.repeat(20_000)}${']'.repeat(20_000)}}]}`,
    `{"code":"${'A'.repeat(50_000)}","message":"${'b'.repeat(50_000)}"}`,
    '{"code":"X","message":"a\\u001b[31m\\r\\nb"}',
  ])('fits into a line whatever the body is: %#', (body) => {
    const { message } = error(GET, 502, body);
    expect(message).not.toMatch(/secret page|object Object|plain words|\p{Cc}/u);
    expect(message.length).toBeLessThan(500);
  });

  it.each([
    ['KUBERNETES::POD_READY_TIMEOUT', 'Timeout waiting for sandbox sb-1 to be Running with IP.', 'sb-1'],
    ['POD_FAILED', "Sandbox '0b0de4c6-fb69-486a' failed.", '0b0de4c6-fb69-486a'],
    ['POD_FAILED', 'The pod is gone: sandbox sb-1.', 'sb-1'],
    ['SANDBOX_START_FAILED', 'Failed to start sandbox container: 500 Server Error', null],
    ['POD_FAILED', 'no name', null],
  ])(
    'of a failed start gives the ID that is named, for the server may not have cleaned up: %s %s',
    (code, message, id) => {
      expect((error(CREATE, 500, { code, message }) as StartFailedError).sandboxIdHint).toBe(id);
    },
  );

  it('can be made of any answer', () => {
    const body = fc.oneof(
      fc.string(),
      fc.json(),
      fc
        .record(
          { code: fc.jsonValue(), message: fc.jsonValue(), detail: fc.jsonValue() },
          { requiredKeys: [] },
        )
        .map((value) => JSON.stringify(value)),
      fc
        .array(fc.record({ loc: fc.jsonValue(), msg: fc.jsonValue() }))
        .map((detail) => JSON.stringify({ detail })),
    );
    const headers = fc.dictionary(
      fc.constantFrom('retry-after', 'date', 'content-type', 'x-request-id'),
      fc.string(),
    );
    const route = fc.constantFrom(CREATE, GET, PAUSE);
    fc.assert(
      fc.property(route, fc.integer({ min: 100, max: 599 }), body, headers, (where, status, text, sent) => {
        const made = error(where, status, text, sent);
        expect(made).toBeInstanceOf(SandboxApiError);
        expect(made).toMatchObject({ status, route: where });
        expect(made.message).not.toContain('[object');
      }),
    );
  });
});

describe('Retry-After', () => {
  const date = 'Wed, 21 Oct 2026 07:28:00 GMT';

  it.each([
    ['7', 7000],
    ['3600', 3_600_000],
    ['Wed, 21 Oct 2026 07:28:07 GMT', 7000],
    ['Wed, 21 Oct 2026 07:27:00 GMT', null],
    ['0', null],
    ['-1', null],
    ['abc', null],
    ['abc 2099', null],
    ['1.5', null],
    ['99999999999999999999', null],
    ['', null],
  ])('of %j is %j ms', (value, waitMs) => {
    expect(readRetryAfterMs({ headers: { 'retry-after': value, date } }, 0)).toBe(waitMs);
  });

  it('as a date is beside the clock where the answer has no date of its own', () => {
    const headers = { 'retry-after': 'Wed, 21 Oct 2026 07:28:09 GMT' };
    expect(readRetryAfterMs({ headers }, NOW_MS)).toBe(9000);
  });

  it('may be absent', () => {
    expect(readRetryAfterMs({ headers: {} }, NOW_MS)).toBeNull();
    expect((error(GET, 429, '') as RateLimitedError).retryAfterMs).toBeNull();
  });
});

describe('what was sent in confidence', () => {
  it('is taken out of an answer as it is and as JSON writes it, but ordinary words stay', () => {
    const secrets = ['pass"word\n1', 'debug', 'sk-CANARY', 'sk-CANARY-long'];
    expect(conceal('debug: sk-CANARY-long and pass\\"word\\n1, sk-CANARY', secrets)).toBe(
      'debug: [concealed] and [concealed], [concealed]',
    );
  });
});
