/** Runs activities as a worker would: with retries, heartbeat details and cancellation, but without a server. */

import type { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { connectSandboxApi, createActivities, LocalWatches, secretsFrom } from '../../activities/index.js';
import type { SandboxSpec } from '../../contract/job-spec.js';
import type { Store } from '../../store/types.js';

export const owner = { jobId: 'job-1', runChainId: '0b0de4c6-fb69-486a-983d-94410dc5851e' };
export const checkpoint = { port: 8000, path: 'state.json', everyMs: 200, stallAfterMs: 60_000 };
export const profile = { heartbeatTimeoutMs: 10_000, sliceMs: 3_600_000 };
export const spec: SandboxSpec = {
  image: 'python:3.12',
  entrypoint: ['agent'],
  env: {},
  files: [],
  resources: { cpu: '1', memory: '512Mi' },
  persistence: null,
};

/** A store in memory, as far as activities use it here. */
export function memoryStore(): Store & { readonly objects: Map<string, string> } {
  const objects = new Map<string, string>();
  return {
    objects,
    description: 'memory',
    async put(key, body) {
      objects.set(key, String(body));
      return { key, sizeBytes: String(body).length, sha256: '' };
    },
    get: async () => null,
    head: async () => null,
    async *list() {},
    async delete() {},
    async close() {},
  };
}

export function activitiesAt(apiUrl: string, apiKey = 'key') {
  const api = connectSandboxApi({ apiUrl, apiKey, persistence: 'extensions', timeouts: { proxyMs: 1000 } });
  const store = memoryStore();
  const files: [string, string, string][] = [];
  const activities = createActivities({
    api,
    store,
    client: {} as Client,
    files: {
      async put(...file) {
        files.push(file);
        return { kind: 'put' };
      },
    },
    secrets: secretsFrom({ HOOK_SECRET: 'a-secret-for-hooks' }),
    profile,
    namespace: 'default',
    watches: new LocalWatches(),
  });
  return { activities, store, files, close: () => api.close() };
}

/** One attempt; `details` are what the attempt before left behind. */
export function attempt<Input, Outcome>(
  activity: (input: Input) => Promise<Outcome>,
  input: Input,
  info: { attempt?: number; heartbeatDetails?: unknown } = {},
): {
  readonly outcome: Promise<Outcome>;
  readonly environment: MockActivityEnvironment;
  lastDetails(): unknown;
} {
  const environment = new MockActivityEnvironment(info, { logger: new DefaultLogger('ERROR') });
  let last: unknown = info.heartbeatDetails;
  environment.on('heartbeat', (details: unknown) => {
    last = details ?? last;
  });
  const outcome = environment.run(activity, input) as Promise<Outcome>;
  outcome.catch(() => {});
  return { outcome, environment, lastDetails: () => last };
}

/** As Temporal retries: again while the failure may pass, at once, with the details of the attempt before. */
export async function retried<Input, Outcome>(
  activity: (input: Input) => Promise<Outcome>,
  input: Input,
): Promise<Outcome> {
  let heartbeatDetails: unknown;
  for (let number = 1; ; number += 1) {
    const running = attempt(activity, input, { attempt: number, heartbeatDetails });
    try {
      return await running.outcome;
    } catch (error) {
      heartbeatDetails = running.lastDetails();
      if (number === 20 || (error instanceof ApplicationFailure && error.nonRetryable)) throw error;
    }
  }
}
