/** The local sandbox server as the drill sees it: by plain HTTP, beside the client that is being tested. */

import type { DevSession } from '../contract/dev-session.js';

export interface SeenSandbox {
  readonly id: string;
  readonly state: string;
  /** Of the job that owns it. */
  readonly runChainId: string;
}

/** States in which a sandbox may run or cost. */
const ALIVE = ['Pending', 'Running', 'Pausing', 'Paused', 'Resuming'];
const PAGE = 200;

export interface DrillApi {
  /** All that are alive; `null` when the server does not answer now. */
  alive(): Promise<readonly SeenSandbox[] | null>;
  /** Adds fault rules to those that are there. */
  misbehave(rules: readonly unknown[]): Promise<void>;
  behave(): Promise<void>;
}

export function drillApi({ sandboxApi }: DevSession): DrillApi {
  const headers = { 'open-sandbox-api-key': sandboxApi.apiKey, 'content-type': 'application/json' };
  const origin = new URL(sandboxApi.url).origin;
  const call = (url: string, method = 'GET', body?: unknown) =>
    fetch(url, {
      method,
      headers,
      signal: AbortSignal.timeout(5000),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const quietly = (work: Promise<unknown>) =>
    work.then(
      () => {},
      () => {},
    );

  return {
    async alive() {
      const found: SeenSandbox[] = [];
      try {
        for (let page = 1; ; page += 1) {
          const answer = await call(`${sandboxApi.url}/sandboxes?page=${page}&pageSize=${PAGE}`);
          if (!answer.ok) return null;
          const { items, pagination } = (await answer.json()) as {
            items: { id: string; status: { state: string }; metadata?: Record<string, string> }[];
            pagination: { hasNextPage: boolean };
          };
          for (const { id, status, metadata } of items) {
            if (!ALIVE.includes(status.state)) continue;
            found.push({ id, state: status.state, runChainId: metadata?.['longhaul-run'] ?? '' });
          }
          if (!pagination.hasNextPage) return found;
        }
      } catch {
        return null;
      }
    },
    // A server that is down just now misbehaves enough.
    misbehave: (rules) => quietly(call(`${origin}/__faults`, 'POST', { rules })),
    behave: () => quietly(call(`${origin}/__faults`, 'DELETE')),
  };
}
