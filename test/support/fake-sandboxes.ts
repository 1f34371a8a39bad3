/**
 * A sandbox API in memory, over real HTTP, whose every step can be made to go wrong: a fault is a function that
 * may answer in place of the API, before or after the work is done. For faults that a real server does not show.
 */

import type { ServerResponse } from 'node:http';
import { type Behaviour, json, type ScriptedApi, scriptedApi } from './scripted-api.js';

export interface FakeSandbox {
  readonly id: string;
  state: string;
  metadata: Record<string, string>;
  /** What the proxy gives for the checkpoint; null: nobody listens. */
  checkpoint: unknown;
  /** When it may first be seen in a list. */
  visibleAt: number;
}

/** Returns true when it has answered itself. */
export type Fault = (context: {
  sandbox: FakeSandbox | undefined;
  response: ServerResponse;
  nth: number;
}) => boolean | Promise<boolean>;

export interface FakeSandboxes {
  readonly api: ScriptedApi;
  readonly sandboxes: Map<string, FakeSandbox>;
  /** How many were created and deleted. */
  readonly counts: { created: number; deleted: number };
  /** Highest number alive at one time. */
  readonly mostAlive: () => number;
  close(): Promise<void>;
}

export type Action = 'create' | 'list' | 'get' | 'pause' | 'resume' | 'delete' | 'proxy';

const notFound = json(404, { code: 'KUBERNETES::SANDBOX_NOT_FOUND', message: 'no such sandbox' });

export async function fakeSandboxes(
  faults: Partial<Record<`before ${Action}` | `after ${Action}`, Fault>> = {},
  initial: { state?: string; checkpoint?: unknown; visibleAfterMs?: number } = {},
): Promise<FakeSandboxes> {
  const sandboxes = new Map<string, FakeSandbox>();
  const counts = { created: 0, deleted: 0 };
  const calls = new Map<string, number>();
  let mostAlive = 0;

  function action(name: Action, id: string | undefined, work: (body: string) => Behaviour): Behaviour {
    return async (request, response, body) => {
      const nth = (calls.get(name) ?? 0) + 1;
      calls.set(name, nth);
      const context = () => ({ sandbox: sandboxes.get(id ?? `sb-${counts.created}`), response, nth });
      if (await faults[`before ${name}`]?.(context())) return;
      const answer = work(body);
      if (await faults[`after ${name}`]?.(context())) return;
      await answer(request, response, body);
    };
  }

  function create(body: string): Behaviour {
    const { metadata } = JSON.parse(body);
    counts.created += 1;
    const sandbox: FakeSandbox = {
      id: `sb-${counts.created}`,
      state: initial.state ?? 'Running',
      metadata,
      checkpoint: initial.checkpoint ?? { status: 'running', step: 1 },
      visibleAt: Date.now() + (initial.visibleAfterMs ?? 0),
    };
    sandboxes.set(sandbox.id, sandbox);
    mostAlive = Math.max(mostAlive, sandboxes.size);
    return json(202, view(sandbox));
  }

  function move(sandbox: FakeSandbox | undefined, from: string, to: string): Behaviour {
    if (sandbox === undefined) return notFound;
    if (sandbox.state !== from)
      return json(409, { code: 'KUBERNETES::INVALID_STATE', message: `it is ${sandbox.state}` });
    sandbox.state = to;
    return json(202, {});
  }

  function proxy(sandbox: FakeSandbox | undefined): Behaviour {
    if (sandbox === undefined) return notFound;
    if (sandbox.state !== 'Running')
      return json(404, { code: 'KUBERNETES::POD_IP_NOT_AVAILABLE', message: 'no pod' });
    return sandbox.checkpoint === null
      ? json(502, { code: 'BACKEND_CONNECTION_FAILED', message: 'Could not connect' })
      : json(200, sandbox.checkpoint);
  }

  const api = await scriptedApi((key) => {
    if (key === 'POST /sandboxes') return action('create', undefined, create);
    if (key === 'GET /sandboxes') {
      const items = [...sandboxes.values()].filter(({ visibleAt }) => visibleAt <= Date.now()).map(view);
      return action('list', undefined, () =>
        json(200, { items, pagination: { page: 1, hasNextPage: false } }),
      );
    }
    const [, method, id = '', rest] = /^(\w+) \/sandboxes\/([^/]+)(\/.*)?$/.exec(key) ?? [];
    const sandbox = sandboxes.get(id);
    if (method === 'GET' && rest === undefined) {
      return action('get', id, () => (sandbox === undefined ? notFound : json(200, view(sandbox))));
    }
    if (method === 'POST' && rest === '/pause')
      return action('pause', id, () => move(sandbox, 'Running', 'Paused'));
    if (method === 'POST' && rest === '/resume')
      return action('resume', id, () => move(sandbox, 'Paused', 'Running'));
    if (method === 'GET' && rest?.startsWith('/proxy/')) return action('proxy', id, () => proxy(sandbox));
    if (method === 'GET' && rest?.startsWith('/diagnostics/'))
      return json(200, { content: 'the last words' });
    if (method !== 'DELETE') return undefined;
    return action('delete', id, () => {
      if (!sandboxes.delete(id)) return notFound;
      counts.deleted += 1;
      return (_, response) => void response.writeHead(204).end();
    });
  });
  return { api, sandboxes, counts, mostAlive: () => mostAlive, close: () => api.close() };
}

function view({ id, state, metadata }: FakeSandbox) {
  return { id, status: { state, reason: null, message: null }, metadata };
}

export const cutSocket: Fault = ({ response }) => {
  response.socket?.destroy();
  return true;
};

export function answerWith(behaviour: Behaviour): Fault {
  return ({ response }) => {
    void behaviour({} as never, response, '');
    return true;
  };
}

/** Only the first `count` times. */
export function first(count: number, fault: Fault): Fault {
  return (context) => context.nth <= count && fault(context);
}
