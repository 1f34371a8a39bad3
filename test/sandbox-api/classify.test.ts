import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { classify, readRetryAfterMs } from '../../activities/sandbox-api/classify.js';
import type { RateLimitedError, StartFailedError } from '../../activities/sandbox-api/index.js';

const CREATE = 'POST /sandboxes';
const GET = 'GET /sandboxes/{id}';
const PAUSE = 'POST /sandboxes/{id}/pause';

function error(route: string, status: number, body: unknown, headers: Record<string, string> = {}) {
  return classify({ status, headers, body: typeof body === 'string' ? body : JSON.stringify(body) }, route);
}

describe('an error of the API', () => {
  it.each([
    [GET, 401, { code: 'MISSING_API_KEY', message: 'm' }, 'KeyRejectedError', 'MISSING_API_KEY'],
    [GET, 401, { code: 'INVALID_API_KEY', message: 'm' }, 'KeyRejectedError', 'INVALID_API_KEY'],
    [GET, 403, '', 'KeyRejectedError', null],
    [
      CREATE,
      403,
      { code: 'KUBERNETES::QUOTA_EXCEEDED', message: 'm' },
      'QuotaExceededError',
      'QUOTA_EXCEEDED',
    ],
    [
      CREATE,
      429,
      { code: 'KUBERNETES::POOL_CAPACITY_EXHAUSTED', message: 'm' },
      'RateLimitedError',
      'POOL_CAPACITY_EXHAUSTED',
    ],
    [
      GET,
      404,
      { code: 'SANDBOX_NOT_FOUND', message: 'm', detail: 'd' },
      'SandboxNotFoundError',
      'SANDBOX_NOT_FOUND',
    ],
    [
      GET,
      404,
      { code: 'DOCKER::SANDBOX_NOT_FOUND', message: 'm' },
      'SandboxNotFoundError',
      'SANDBOX_NOT_FOUND',
    ],
    [
      GET,
      404,
      { code: 'KUBERNETES::SANDBOX_NOT_FOUND', message: 'm' },
      'SandboxNotFoundError',
      'SANDBOX_NOT_FOUND',
    ],
    [GET, 404, { detail: 'Not Found' }, 'UnreachableError', null],
    [GET, 404, '<html>nginx</html>', 'UnreachableError', null],
    [GET, 404, '', 'UnreachableError', null],
    [
      PAUSE,
      409,
      { code: 'DOCKER::SANDBOX_NOT_RUNNING', message: 'm' },
      'ConflictError',
      'SANDBOX_NOT_RUNNING',
    ],
    [
      PAUSE,
      409,
      { code: 'KUBERNETES::INVALID_STATE', message: 'Cannot pause' },
      'ConflictError',
      'INVALID_STATE',
    ],
    [
      PAUSE,
      400,
      { code: 'KUBERNETES::INVALID_STATE', message: 'Pause is not supported for this sandbox type' },
      'UnsupportedError',
      'INVALID_STATE',
    ],
    [
      PAUSE,
      501,
      { code: 'SANDBOX::API_NOT_SUPPORTED', message: 'm' },
      'UnsupportedError',
      'API_NOT_SUPPORTED',
    ],
    [
      PAUSE,
      500,
      { code: 'DOCKER::SANDBOX_PAUSE_FAILED', message: 'm' },
      'UnreachableError',
      'SANDBOX_PAUSE_FAILED',
    ],
    [PAUSE, 502, '<html>Bad gateway</html>', 'UnreachableError', null],
    [
      CREATE,
      504,
      { code: 'KUBERNETES::POD_READY_TIMEOUT', message: 'm' },
      'StartFailedError',
      'POD_READY_TIMEOUT',
    ],
    [
      CREATE,
      500,
      { code: 'DOCKER::SANDBOX_IMAGE_PULL_FAILED', message: 'm' },
      'StartFailedError',
      'SANDBOX_IMAGE_PULL_FAILED',
    ],
    [CREATE, 500, 'Internal Server Error', 'UnreachableError', null],
    [
      CREATE,
      400,
      { code: 'SANDBOX::INVALID_PARAMETER', message: 'cpu' },
      'RefusedError',
      'INVALID_PARAMETER',
    ],
    [CREATE, 422, { detail: [{ loc: ['body', 'timeout'], msg: 'too small' }] }, 'RefusedError', null],
  ] as const)('%s %i %j is a %3$s', (route, status, body, name, code) => {
    expect(error(route, status, body)).toMatchObject({ name, code, status, route });
  });

  it('names where and what of a validation error, but never what was sent', () => {
    const refused = error(CREATE, 422, {
      detail: [
        { loc: ['body', 'env', 'TOKEN'], msg: 'Input should be a string', input: { TOKEN: 'sk-CANARY' } },
      ],
    });
    expect(refused.message).toContain('body.env.TOKEN: Input should be a string');
    expect(JSON.stringify(refused) + refused.message).not.toContain('CANARY');
  });

  it('shows no page text and no [object Object]', () => {
    for (const body of [
      '<html>secret page</html>',
      '',
      'plain words',
      '{"message":{"a":1}}',
      '[]',
      'null',
      '{"detail":[null,7]}',
    ]) {
      expect(error(GET, 502, body).message).not.toMatch(/secret page|object Object|plain words/);
    }
  });

  it('gives the ID that a failed start names, since the server may not have cleaned it up', () => {
    const body = {
      code: 'KUBERNETES::POD_READY_TIMEOUT',
      message: 'Timeout waiting for sandbox sb-1 to be Running with IP.',
    };
    expect((error(CREATE, 504, body) as StartFailedError).sandboxIdHint).toBe('sb-1');
  });

  it('can be made of any answer', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 599 }), fc.oneof(fc.string(), fc.json()), (status, body) => {
        expect(error(GET, status, body)).toBeInstanceOf(Error);
      }),
    );
  });
});

describe('Retry-After', () => {
  const date = 'Wed, 21 Oct 2026 07:28:00 GMT';

  it.each([
    ['7', 7000],
    ['0', 0],
    ['3600', 3_600_000],
    ['Wed, 21 Oct 2026 07:28:07 GMT', 7000],
    ['Wed, 21 Oct 2026 07:27:00 GMT', null],
    ['-1', null],
    ['abc', null],
    ['1.5', null],
    ['', null],
  ])('of %j is %j ms', (value, waitMs) => {
    expect(readRetryAfterMs({ headers: { 'retry-after': value, date } })).toBe(waitMs);
  });

  it('may be absent', () => {
    expect(readRetryAfterMs({ headers: {} })).toBeNull();
    expect((error(GET, 429, '') as RateLimitedError).retryAfterMs).toBeNull();
  });
});
