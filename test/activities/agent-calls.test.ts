/** What is asked of an agent through the proxy: to drain, to take an answer, to wake up. */

import { afterEach, describe, expect, it } from 'vitest';
import { type Behaviour, html, json, scriptedApi } from '../support/scripted-api.js';
import { activitiesAt, attempt, checkpoint, owner } from './harness.js';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

interface Call {
  readonly path: string;
  readonly headers: Record<string, unknown>;
  readonly body: unknown;
}

/** A sandbox whose agent behaves like this, and which follows every pause. */
async function agentThat(behaves: Behaviour) {
  const calls: Call[] = [];
  const order: string[] = [];
  let state = 'Running';
  const api = await scriptedApi((key) => {
    if (key.startsWith('POST /sandboxes/sb-1/proxy/')) {
      return (request, response, body) => {
        order.push('agent');
        calls.push({ path: key.slice('POST '.length), headers: request.headers, body: JSON.parse(body) });
        return behaves(request, response, body);
      };
    }
    if (key.startsWith('GET /sandboxes/sb-1/proxy/')) return json(200, { status: 'running', step: 7 });
    if (key.startsWith('GET /sandboxes/sb-1/diagnostics/')) return json(200, { content: 'its last words' });
    if (key === 'POST /sandboxes/sb-1/pause') {
      return (...exchange) => {
        order.push('pause');
        state = 'Paused';
        return json(202, {})(...exchange);
      };
    }
    if (key === 'GET /sandboxes/sb-1') return json(200, { id: 'sb-1', status: { state } });
    return undefined;
  });
  const { activities, store, files, close } = activitiesAt(api.url);
  open.push(api, { close });
  return { activities, store, files, calls, order };
}

const never: Behaviour = () => {};
const sandbox = { id: 'sb-1', incarnation: 3 };
const drain = { port: 8000, path: 'drain', timeoutMs: 400 };

describe('a pause with a drain', () => {
  it.each([
    ['answers 200', json(200, {}), 'drained', 'the agent answered 200'],
    ['answers 404', json(404, {}), 'refused', 'the agent answered 404'],
    ['never answers', never, 'no-answer', 'no answer within 400ms'],
    ['is behind a broken proxy', html(502), 'no-answer', '502'],
  ] as const)('goes on when the agent %s, and says so in the receipt', async (_, behaves, kind, detail) => {
    const { activities, order } = await agentThat(behaves);
    const outcome = await attempt(activities.pauseSandbox, { sandbox, checkpoint, drain, owner }).outcome;
    expect(outcome).toMatchObject({
      kind: 'paused',
      checkpoint: { step: 7 },
      drain: { kind, detail: expect.stringContaining(detail) },
    });
    expect(order).toEqual(['agent', 'pause']);
  });

  it('tells the agent which of its incarnations is meant', async () => {
    const { activities, calls } = await agentThat(json(200, {}));
    await attempt(activities.pauseSandbox, { sandbox, checkpoint, drain }).outcome;
    expect(calls[0]).toMatchObject({
      path: '/sandboxes/sb-1/proxy/8000/drain',
      headers: { 'longhaul-incarnation': '3' },
    });
  });

  it('saves logs, events and inspection, which vanish with the pod', async () => {
    const { activities, store } = await agentThat(never);
    const outcome = await attempt(activities.pauseSandbox, { sandbox, checkpoint, owner }).outcome;
    expect(outcome).toMatchObject({ kind: 'paused', evidence: { length: 3 } });
    expect([...store.objects.keys()].sort()).toEqual(
      ['events', 'inspect', 'logs'].map(
        (kind) => `jobs/${owner.jobId}/${owner.runChainId}/evidence/3-pause-${kind}.txt`,
      ),
    );
    expect([...store.objects.values()]).toContain('its last words');
  });
});

describe('an answer for the agent', () => {
  const document = { id: 'update-1', question: 'q1', value: { approve: true } };
  const endpoint = { port: 8000, path: 'input' };

  it.each([
    [204, 'delivered'],
    [200, 'delivered'],
    [404, 'refused'],
    [422, 'refused'],
    [503, 'no-answer'],
  ] as const)('that is answered with %i counts as %s', async (status, kind) => {
    const { activities } = await agentThat(json(status, {}));
    const outcome = attempt(activities.deliverInput, { sandbox, endpoint, document }).outcome;
    expect(await outcome).toMatchObject({ kind });
  });

  it('carries its ID, so that the agent knows it again', async () => {
    const { activities, calls } = await agentThat(json(200, {}));
    await attempt(activities.deliverInput, { sandbox, endpoint, document }).outcome;
    expect(calls).toMatchObject([
      {
        path: '/sandboxes/sb-1/proxy/8000/input',
        headers: { 'longhaul-input-id': 'update-1', 'longhaul-incarnation': '3' },
        body: document,
      },
    ]);
  });

  it('is put into the workspace where the agent has no endpoint', async () => {
    const { activities, files, calls } = await agentThat(never);
    const outcome = attempt(activities.deliverInput, { sandbox, endpoint: null, document }).outcome;
    expect(await outcome).toEqual({ kind: 'delivered' });
    expect(files).toEqual([['sb-1', '/workspace/.longhaul/input.json', JSON.stringify(document)]]);
    expect(calls).toEqual([]);
  });
});
