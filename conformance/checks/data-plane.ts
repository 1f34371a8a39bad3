/** The ways to a sandbox beside the proxy of the API server. */

import { AGENT_PORT, LARGE_FILE, LARGE_FILE_BYTES } from '../agent.js';
import { type Check, ok, warn } from '../check.js';
import { type Deployment, sendRaw } from '../deployment.js';

const EXECD_PORT = 44772;

interface Address {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly by: string;
}

export const dataPlaneChecks: readonly Check[] = [
  {
    capability: 'gateway',
    sentence: 'The agent can be reached without the API server in between',
    need: 'useful',
    async examine(deployment) {
      const { id, firstState } = await deployment.subject();
      const { url, headers, by } = await addressOf(deployment, id);
      const { status, json } = await sendRaw(`${url}/state.json`, { method: 'GET', headers });
      if (status !== 200 || json?.boot !== firstState.boot) {
        return warn('no', `${by}: state.json was answered with ${status}`);
      }
      const startedMs = performance.now();
      const { text } = await sendRaw(`${url}/${LARGE_FILE}`, { method: 'GET', headers });
      const seconds = (performance.now() - startedMs) / 1000;
      if (text.length !== LARGE_FILE_BYTES) return warn('no', `${by}: only ${text.length} bytes came`);
      return ok(
        by,
        `${LARGE_FILE_BYTES / 2 ** 20} MiB whole, ${Math.round(LARGE_FILE_BYTES / 1e6 / seconds)} MB/s`,
      );
    },
  },
  {
    capability: 'execd',
    sentence: 'Commands can be run and files moved in a sandbox',
    need: 'useful',
    async examine(deployment) {
      const { id } = await deployment.subject();
      const base = `/sandboxes/${id}/proxy/${EXECD_PORT}`;
      const ping = await deployment.raw('GET', `${base}/ping`);
      if (ping.status !== 200) return warn('absent', `GET /ping: ${ping.status}`);
      const body = { command: 'echo execd $((40 + 2))' };
      const run = await deployment.raw('POST', `${base}/command`, { body });
      if (run.status !== 200 || !run.text.includes('execd 42')) {
        return warn('ping only', `POST /command: ${run.status}`);
      }
      const file = await deployment.raw('GET', `${base}/files/download?path=/workspace/state.json`);
      if (file.status !== 200) return warn('commands only', `GET /files/download: ${file.status}`);
      return ok('commands and files', 'a command ran, a file was read');
    },
  },
];

/** The gateway that was named, or else where the API says. */
async function addressOf(deployment: Deployment, id: string): Promise<Address> {
  const { gatewayUrl } = deployment.options;
  const ingress = { 'opensandbox-ingress-to': `${id}-${AGENT_PORT}` };
  if (gatewayUrl !== undefined) return { url: withScheme(gatewayUrl), headers: ingress, by: 'given gateway' };
  const { status, json } = await deployment.raw('GET', `/sandboxes/${id}/endpoints/${AGENT_PORT}`);
  if (status !== 200 || typeof json?.endpoint !== 'string') {
    throw new Error(`GET /sandboxes/{id}/endpoints/${AGENT_PORT} was answered with ${status}.`);
  }
  const headers: Readonly<Record<string, string>> = json.headers ?? {};
  const by = Object.keys(headers).length === 0 ? 'address' : 'gateway and header';
  return { url: withScheme(json.endpoint), headers, by };
}

/** Deployments give endpoints without a scheme. */
function withScheme(endpoint: string): string {
  return (/^https?:\/\//.test(endpoint) ? endpoint : `http://${endpoint}`).replace(/\/+$/, '');
}
