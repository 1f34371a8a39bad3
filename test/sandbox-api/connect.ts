/** A client and the scripted server it talks to, both closed after the test. */

import { onTestFinished } from 'vitest';
import {
  connectSandboxApi,
  type SandboxApi,
  type SandboxApiOptions,
} from '../../activities/sandbox-api/index.js';
import { type Behaviour, type ScriptedApi, scriptedApi } from '../support/scripted-api.js';

export const KEY = 'osk-CANARY';
/** The least that a deployment may answer. */
export const sandbox = { id: 'sb-1', status: { state: 'Running' } };
export const request = {
  image: 'python:3.12',
  entrypoint: ['agent'],
  env: { A: '1' },
  resources: { cpu: '1', memory: '512Mi' },
  persistence: { storageClass: 'local-path', size: '5Gi' },
  volumeName: 'longhaul-x-1',
  metadata: { 'longhaul-run': 'x' },
};

/** @param routes behaviours by `METHOD path`; a function without parameters chooses anew for each request. */
export async function connect(
  routes: Record<string, Behaviour | (() => Behaviour)>,
  options: Partial<SandboxApiOptions> = {},
  base = '',
): Promise<{ server: ScriptedApi; api: SandboxApi }> {
  const server = await scriptedApi((key) => {
    const found = routes[key];
    return found?.length === 0 ? (found as () => Behaviour)() : (found as Behaviour | undefined);
  });
  const api = connectSandboxApi({
    apiUrl: `${server.url}${base}`,
    apiKey: KEY,
    persistence: 'extensions',
    ...options,
  });
  onTestFinished(async () => {
    await api.close();
    await server.close();
  });
  return { server, api };
}

/** What an error gives to whoever shows or stores it. */
export function everythingOf(error: unknown): string {
  return `${(error as Error).stack}${(error as Error).message}${JSON.stringify(error)}`;
}
