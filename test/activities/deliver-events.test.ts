import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { type ApplicationFailure, ApplicationFailureCategory, CancelledFailure } from '@temporalio/common';
import { describe, expect, it, onTestFinished } from 'vitest';
import { deliverEventsWith } from '../../activities/deliver-events.js';
import { secretsFrom } from '../../activities/secret-references.js';
import { headersOf, signingKey } from '../../activities/webhook-message.js';
import type { NotifySpec } from '../../contract/notifications.js';
import type { JobEvent } from '../../contract/timeline.js';
import { freePort } from '../../local/ports.js';
import { everythingOf } from '../sandbox-api/connect.js';
import { type Behaviour, flood, json, reset, scriptedApi, silence, stall } from '../support/scripted-api.js';
import { attempt, owner, retried } from './harness.js';

const SECRET = 'a-CANARY-for-hooks';
const KEY_BYTES = Buffer.from('0123456789abcdefghijklmn');
const env: Record<string, string> = {
  HOOK_SECRET: SECRET,
  ENCODED_SECRET: `whsec_${KEY_BYTES.toString('base64')}`,
  BROKEN_SECRET: 'whsec_CANARY!',
  BARE_SECRET: 'whsec_',
};
const deliverEvents = deliverEventsWith({ secrets: secretsFrom(env) });

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A receiver that answers by turns, the last way for good. */
async function receiver(...answers: Behaviour[]) {
  const received: Received[] = [];
  const server = await scriptedApi(() => (request, response, body) => {
    received.push({ headers: request.headers, body });
    const behaviour = answers[Math.min(received.length, answers.length) - 1] ?? json(200, {});
    return behaviour(request, response, body);
  });
  onTestFinished(() => server.close());
  const target = (more: Partial<NotifySpec> = {}): NotifySpec => ({
    url: `${server.url}/hook?token=CANARY`,
    events: null,
    secretEnv: 'env:HOOK_SECRET',
    ...more,
  });
  return { server, received, target };
}

function events(...seqs: number[]): JobEvent[] {
  return seqs.map((seq) => ({
    seq,
    event: 'paused',
    at: '2026-03-01T22:00:00Z',
    phase: 'paused',
    cause: `for the ${seq}th tîme`,
    checkpoint: { step: seq, progress: 0.5 },
    answerWith: null,
  }));
}

async function failureOf(outcome: Promise<unknown>): Promise<ApplicationFailure> {
  const error = await outcome.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(everythingOf(error)).not.toContain('CANARY');
  expect(error).toMatchObject({ type: 'NOT_DELIVERED', nonRetryable: false });
  return error as ApplicationFailure;
}

const seqOf = ({ body }: Received) => (JSON.parse(body) as { checkpoint: { step: number } }).checkpoint.step;
const idOf = ({ headers }: Received) => headers['webhook-id'];

it('signs the example of the specification as the specification does', () => {
  const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body: '{"test": 2432232314}' };
  const key = signingKey('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
  expect(headersOf(message, key, new Date(1_614_265_330_000))).toMatchObject({
    'webhook-id': message.id,
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

describe('a delivery of events', () => {
  it('posts each event in order, as JSON of its own', async () => {
    const { received, target } = await receiver();
    const outcome = await attempt(deliverEvents, { owner, target: target(), events: events(3, 4, 7) })
      .outcome;
    expect(outcome).toEqual({ deliveredThrough: 7, gone: false });
    expect(received.map(seqOf)).toEqual([3, 4, 7]);
    expect(JSON.parse(received[0]?.body ?? '')).toEqual({
      id: received[0]?.headers['webhook-id'],
      job: 'job-1',
      event: 'paused',
      at: '2026-03-01T22:00:00Z',
      phase: 'paused',
      cause: 'for the 3th tîme',
      checkpoint: { step: 3, progress: 0.5 },
      answerWith: null,
    });
    expect(received[0]?.headers['content-type']).toBe('application/json');
  });

  it.each([
    ['env:HOOK_SECRET', Buffer.from(SECRET)],
    ['HOOK_SECRET', Buffer.from(SECRET)],
    ['env:ENCODED_SECRET', KEY_BYTES],
  ])('is signed by the rules of Standard Webhooks with %s', async (secretEnv, key) => {
    const { received, target } = await receiver();
    await attempt(deliverEvents, { owner, target: target({ secretEnv }), events: events(1) }).outcome;
    const [{ headers, body }] = received as [Received];
    const timestamp = Number(headers['webhook-timestamp']);
    expect(Math.abs(timestamp - Date.now() / 1000)).toBeLessThan(30);
    const signature = createHmac('sha256', key).update(`${headers['webhook-id']}.${timestamp}.${body}`);
    expect(headers['webhook-signature']).toBe(`v1,${signature.digest('base64')}`);
  });

  it('is not signed where no secret is named', async () => {
    const { received, target } = await receiver();
    await attempt(deliverEvents, { owner, target: target({ secretEnv: null }), events: events(1) }).outcome;
    expect(received[0]?.headers).not.toHaveProperty('webhook-signature');
  });

  it('gives an event the same ID whenever it is sent, and another one in another run', async () => {
    const { received, target } = await receiver(json(500, {}), json(200, {}));
    const input = { owner, target: target(), events: events(1, 2) };
    await retried(deliverEvents, input);
    await attempt(deliverEvents, { ...input, owner: { ...owner, runChainId: 'another' } }).outcome;
    const [first, again, second, elsewhere] = received.map(idOf);
    expect(again).toBe(first);
    expect(new Set([first, second, elsewhere]).size).toBe(3);
    expect(first).toMatch(/^evt_[0-9a-f]{32}$/);
  });

  it('goes on where the attempt before ended, and sends nothing twice that is known to have arrived', async () => {
    const { received, target } = await receiver(json(200, {}), json(204, {}), reset, json(200, {}));
    const outcome = await retried(deliverEvents, { owner, target: target(), events: events(1, 2, 3) });
    expect(outcome).toEqual({ deliveredThrough: 3, gone: false });
    expect(received.map(seqOf)).toEqual([1, 2, 3, 3]);
  });

  it('sends nothing when everything has arrived already', async () => {
    const { received, target } = await receiver();
    const input = { owner, target: target({ secretEnv: 'env:MISSING' }), events: events(1, 2) };
    const { outcome } = attempt(deliverEvents, input, {
      attempt: 2,
      heartbeatDetails: { deliveredThrough: 2 },
    });
    expect(await outcome).toEqual({ deliveredThrough: 2, gone: false });
    expect(received).toEqual([]);
  });

  it('stops for good when the receiver says that it is gone', async () => {
    const { received, target } = await receiver(json(200, {}), json(410, {}));
    const { outcome } = attempt(deliverEvents, { owner, target: target(), events: events(1, 2, 3) });
    expect(await outcome).toEqual({ deliveredThrough: 1, gone: true });
    expect(received).toHaveLength(2);
  });

  it.each([
    [429, '7', 7000],
    [503, '2', 2000],
    [429, '86400', 3_600_000],
    [500, '7', undefined],
  ])('comes back after a %i with Retry-After %s when it is due', async (status, header, delayMs) => {
    const { target, server } = await receiver(json(status, {}, { 'retry-after': header }));
    const { outcome } = attempt(deliverEvents, { owner, target: target(), events: events(1) });
    const failure = await failureOf(outcome);
    expect(failure.message).toBe(`${server.url}/hook answered ${status}.`);
    expect(failure.nextRetryDelay).toBe(delayMs);
    expect(failure.category).toBe(ApplicationFailureCategory.BENIGN);
  });

  it('follows no redirect, which could lead the message to somebody else', async () => {
    const other = await receiver();
    const { target } = await receiver(json(307, {}, { location: other.target().url }));
    const { outcome } = attempt(deliverEvents, { owner, target: target(), events: events(1) });
    expect((await failureOf(outcome)).message).toMatch(/answered 307; redirects are not followed/);
    expect(other.received).toEqual([]);
  });

  it('says in a failure who did not answer and why, but no query and no secret', async () => {
    const url = `http://127.0.0.1:${await freePort()}/hook?token=CANARY#CANARY`;
    const { target } = await receiver(json(400, { echo: SECRET }));
    const refused = attempt(deliverEvents, { owner, target: target({ url }), events: events(1) });
    expect((await failureOf(refused.outcome)).message).toMatch(
      /^http:\/\/127\.0\.0\.1:\d+\/hook could not be reached \(ECONNREFUSED\)\.$/,
    );
    const answered = attempt(deliverEvents, { owner, target: target(), events: events(1) });
    expect((await failureOf(answered.outcome)).message).toMatch(/\/hook answered 400\.$/);
    const unknown = attempt(deliverEvents, {
      owner,
      target: target({ url: 'http://nowhere.invalid/hook?token=CANARY' }),
      events: events(1),
    });
    expect((await failureOf(unknown.outcome)).message).toMatch(
      /^http:\/\/nowhere\.invalid\/hook could not be/,
    );
  });

  it('waits ten seconds for an answer, and not at all for what it says', { timeout: 30_000 }, async () => {
    const [silent, stalling] = await Promise.all([receiver(silence), receiver(stall)]);
    const startedAt = Date.now();
    const [failure, outcome] = await Promise.all([
      failureOf(attempt(deliverEvents, { owner, target: silent.target(), events: events(1) }).outcome),
      attempt(deliverEvents, { owner, target: stalling.target(), events: events(1) }).outcome,
    ]);
    expect(failure.message).toMatch(/\/hook did not answer within 10 s\.$/);
    expect(outcome).toEqual({ deliveredThrough: 1, gone: false });
    expect(Date.now() - startedAt).toBeLessThan(15_000);
  });

  it('does not read more than a little of an endless answer', async () => {
    const sent = { bytes: 0 };
    const { target } = await receiver(flood(500 * 2 ** 20, sent));
    const { outcome } = attempt(deliverEvents, { owner, target: target(), events: events(1) });
    expect(await outcome).toEqual({ deliveredThrough: 1, gone: false });
    expect(sent.bytes).toBeLessThan(50 * 2 ** 20);
  });

  it('ends at once when it is cancelled, and tells how far it came', async () => {
    const { received, target } = await receiver(json(200, {}), silence);
    const running = attempt(deliverEvents, { owner, target: target(), events: events(1, 2, 3) });
    await expect.poll(() => received.length).toBe(2);
    running.environment.cancel();
    await expect(running.outcome).rejects.toBeInstanceOf(CancelledFailure);
    expect(running.lastDetails()).toEqual({ deliveredThrough: 1 });
  });

  it('waits for an operator to add the secret that is missing', async () => {
    const { received, target } = await receiver();
    const input = { owner, target: target({ secretEnv: 'env:LATE_SECRET' }), events: events(1) };
    const failure = await failureOf(attempt(deliverEvents, input).outcome);
    expect(failure.message).toBe(
      'The secret env:LATE_SECRET cannot be had on this worker: the variable is not set.',
    );
    // An operator should see it in the logs.
    expect(failure.category).not.toBe(ApplicationFailureCategory.BENIGN);
    expect(received).toEqual([]);
    env.LATE_SECRET = 'here it is';
    expect(await attempt(deliverEvents, input, { attempt: 2 }).outcome).toMatchObject({
      deliveredThrough: 1,
    });
  });

  it.each(['BROKEN_SECRET', 'BARE_SECRET'])(
    'signs with no key that is none, such as %s',
    async (secretEnv) => {
      const { received, target } = await receiver();
      const { outcome } = attempt(deliverEvents, { owner, target: target({ secretEnv }), events: events(1) });
      expect((await failureOf(outcome)).message).toContain(`The secret ${secretEnv} begins with "whsec_"`);
      expect(received).toEqual([]);
    },
  );
});
