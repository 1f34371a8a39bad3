import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApplicationFailure } from '@temporalio/common';
import { afterEach, describe, expect, it } from 'vitest';
import type { NotifySpec } from '../../contract/notifications.js';
import type { JobEvent } from '../../contract/timeline.js';
import { activitiesAt, attempt, owner, retried } from './harness.js';

const servers: Server[] = [];
const { activities, close } = activitiesAt('http://127.0.0.1:1');
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  await close();
});

interface Message {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A receiver that answers its nth message with this status. */
async function receiver(status: (nth: number) => number, headers: Record<string, string> = {}) {
  const messages: Message[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    messages.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
    response.writeHead(status(messages.length), headers).end('thank you');
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?token=in-the-url`;
  return { messages, target: { url, events: null, secretEnv: 'env:HOOK_SECRET' } satisfies NotifySpec };
}

function events(count: number): JobEvent[] {
  return Array.from({ length: count }, (_, index) => ({
    seq: index + 1,
    event: 'paused',
    at: '2026-12-01T10:00:00.000Z',
    phase: 'paused',
    cause: 'manual (ann): lunch',
    checkpoint: { step: 4, progress: 0.5 },
    answerWith: 'longhaul resume job-1',
  }));
}

const deliver = (target: NotifySpec, count: number) =>
  attempt(activities.deliverEvents, { owner, target, events: events(count) }).outcome;

describe('the delivery of events', () => {
  it('is in order, with cause, checkpoint and the command that answers, and signed', async () => {
    const { messages, target } = await receiver(() => 204);
    expect(await deliver(target, 3)).toEqual({ deliveredThrough: 3, gone: false });
    expect(messages).toHaveLength(3);
    for (const { headers, body } of messages) {
      const mac = createHmac('sha256', 'a-secret-for-hooks');
      mac.update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`);
      expect(headers['webhook-signature']).toBe(`v1,${mac.digest('base64')}`);
      expect(Math.abs(Number(headers['webhook-timestamp']) * 1000 - Date.now())).toBeLessThan(60_000);
      expect(JSON.parse(body)).toMatchObject({
        id: headers['webhook-id'],
        job: 'job-1',
        event: 'paused',
        cause: 'manual (ann): lunch',
        checkpoint: { step: 4 },
        answerWith: 'longhaul resume job-1',
      });
    }
    expect(new Set(messages.map(({ headers }) => headers['webhook-id'])).size).toBe(3);
  });

  it('goes on where it was when the receiver failed, and repeats an event under its ID', async () => {
    const { messages, target } = await receiver((nth) => (nth === 2 ? 500 : 200));
    expect(await retried(activities.deliverEvents, { owner, target, events: events(3) })).toEqual({
      deliveredThrough: 3,
      gone: false,
    });
    const ids = messages.map(({ headers }) => headers['webhook-id']);
    expect(ids).toHaveLength(4);
    expect(ids[1]).toBe(ids[2]);
  });

  it('ends for good when the receiver is gone', async () => {
    const { messages, target } = await receiver(() => 410);
    expect(await deliver(target, 3)).toEqual({ deliveredThrough: 0, gone: true });
    expect(messages).toHaveLength(1);
  });

  it('waits as long as the receiver asks to', async () => {
    const { target } = await receiver(() => 429, { 'retry-after': '7' });
    const failure = await deliver(target, 1).catch((error) => error);
    expect(failure).toBeInstanceOf(ApplicationFailure);
    expect(failure).toMatchObject({ nonRetryable: false, nextRetryDelay: 7000 });
  });

  it('does not follow a redirect, and tells neither the secret nor the query of the URL', async () => {
    const { target } = await receiver(() => 302, { location: 'http://127.0.0.1:1/elsewhere' });
    const failure = await deliver(target, 1).catch((error) => error);
    expect(failure.message).toMatch(/\/hook answered 302/);
    expect(failure.message).not.toMatch(/in-the-url|a-secret/);
  });

  it('that cannot reach anybody, or has no secret to sign with, may succeed later', async () => {
    const dead = { url: 'http://127.0.0.1:1/hook', events: null, secretEnv: null };
    await expect(deliver(dead, 1)).rejects.toMatchObject({
      nonRetryable: false,
      message: expect.stringContaining('ECONNREFUSED'),
    });
    const { messages, target } = await receiver(() => 200);
    const unsigned = { ...target, secretEnv: 'env:NOT_THERE' };
    await expect(deliver(unsigned, 1)).rejects.toMatchObject({
      nonRetryable: false,
      message: expect.stringContaining('env:NOT_THERE cannot be had'),
    });
    expect(messages).toEqual([]);
  });
});
