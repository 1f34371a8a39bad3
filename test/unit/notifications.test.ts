import { describe, expect, it } from 'vitest';
import { notifySpecs } from '../../contract/notifications.schema.js';
import { JOB_EVENT_NAMES } from '../../contract/timeline.js';

const url = 'https://hooks.example.org/x?a=1';

function problemsOf(given: unknown): string {
  const { success, error } = notifySpecs.safeParse(given);
  expect(success).toBe(false);
  return error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n') ?? '';
}

describe('the receivers of a spec', () => {
  it('get all events, unsigned, unless the spec says otherwise', () => {
    expect(notifySpecs.parse([{ url }])).toEqual([{ url, events: null, secretEnv: null }]);
    expect(notifySpecs.parse([{ url, events: ['paused', 'failed'], secretEnv: 'HOOK' }])).toEqual([
      { url, events: ['paused', 'failed'], secretEnv: 'env:HOOK' },
    ]);
    for (const secretEnv of ['env:HOOK', 'file:/run/secrets/hook'])
      expect(notifySpecs.parse([{ url, secretEnv }])[0]?.secretEnv).toBe(secretEnv);
  });

  it.each([
    ['not a url', 'is not a URL'],
    ['ftp://example.org', 'must begin with https://'],
    ['file:///etc/passwd', 'must begin with https://'],
    ['https://user:CANARY@example.org', 'must not contain a password'],
    ['https://CANARY@example.org', 'must not contain a password'],
    ['https://user:CANARY@[', 'is not a URL'],
    [`https://example.org/${'x'.repeat(2000)}`, 'must have at most 2000 characters'],
    [8080, 'expected a URL'],
  ])('cannot have the URL %s', (given, words) => {
    const problems = problemsOf([{ url: given }]);
    expect(problems).toContain(`0.url: ${words}`);
    expect(problems).not.toContain('CANARY');
  });

  it('name events that there are, and are told which', () => {
    expect(problemsOf([{ url, events: ['paussed'] }])).toBe(
      `0.events.0: "paussed" is no event; there are ${JOB_EVENT_NAMES.join(', ')}`,
    );
    expect(problemsOf([{ url, events: [] }])).toContain('leave it out for all');
    expect(problemsOf([{ url, events: 'paused' }])).toContain('expected a list of events');
  });

  it.each(['OPEN_SANDBOX_API_KEY', 'env:TEMPORAL_API_KEY', 'LONGHAUL_X', 'env:AWS_SECRET_ACCESS_KEY'])(
    'cannot be signed with %s, which is not theirs',
    (secretEnv) => {
      expect(problemsOf([{ url, secretEnv }])).toContain('is reserved and cannot be handed out');
    },
  );

  it.each(['file:relative', 'env:', 'env:A B', 'https://x', '', 'file:/proc/self/environ', 'file:/a/../b'])(
    'cannot be signed with the reference "%s"',
    (secretEnv) => {
      expect(problemsOf([{ url, secretEnv }])).toContain('0.secretEnv: ');
    },
  );

  it.each(['whsec_CANARYCANARYCANARY', 'sk_live_CANARY1234567890abcdef'])(
    'are not given the secret itself, and it is not repeated',
    (secretEnv) => {
      const problems = problemsOf([{ url, secretEnv }]);
      expect(problems).toContain('is the secret itself');
      expect(problems).not.toContain('CANARY');
    },
  );

  it('are ten at most, and each of them once', () => {
    const many = Array.from({ length: 11 }, (_, index) => ({ url: `https://example.org/${index}` }));
    expect(notifySpecs.parse(many.slice(1))).toHaveLength(10);
    expect(problemsOf(many)).toContain('more than 10 receivers');
    expect(problemsOf([{ url }, { url, events: ['paused'] }])).toContain('the same URL twice');
    expect(problemsOf([{ url, secret: 'x' }])).toContain('"secret"');
    expect(problemsOf({ url })).toContain('expected a list such as');
  });
});
