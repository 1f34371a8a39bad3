/** The way to the agent through the API server. */

import {
  AGENT_PORT,
  type Echo,
  LARGE_FILE,
  LARGE_FILE_BYTES,
  SPACED_FILE,
  SPACED_FILE_TEXT,
} from '../agent.js';
import { type Check, ok, reasonIn, warn } from '../check.js';
import type { Deployment } from '../deployment.js';

const SILENT_PORT = 9;

export const proxyChecks: readonly Check[] = [
  {
    capability: 'proxy-statuses',
    sentence: 'The agent’s own 404 comes through, and is not taken for the sandbox’s',
    need: 'needed',
    async examine(deployment) {
      const { id } = await deployment.subject();
      const answer = await deployment.read(id, 'no-such-file');
      if (answer.kind === 'answer' && answer.status === 404) return ok('yes', 'a missing file is a 404');
      throw new Error(`A missing file was answered with ${describe(answer)}.`);
    },
  },
  {
    capability: 'proxy-paths',
    sentence: 'Encoded paths and queries reach the agent',
    need: 'useful',
    async examine(deployment) {
      const { id } = await deployment.subject();
      const spaced = await deployment.read(id, SPACED_FILE);
      if (spaced.kind !== 'answer' || spaced.body.toString() !== SPACED_FILE_TEXT) {
        return warn('no', `"${SPACED_FILE}" was answered with ${describe(spaced)}`);
      }
      const { query } = await echo(deployment, 'cgi-bin/echo?x=1&x=2');
      return query === 'x=1&x=2' ? ok('yes', 'a space, a repeated key') : warn('no', `query was "${query}"`);
    },
  },
  {
    capability: 'proxy-post',
    sentence: 'A POST reaches the agent with its body and headers',
    need: 'needed',
    async examine(deployment) {
      const { id } = await deployment.subject();
      const body = { drain: true };
      const answer = await deployment.api.postThroughProxy(id, AGENT_PORT, 'cgi-bin/echo', {
        body,
        headers: { 'x-probe': 'sent' },
        maxBytes: 2 ** 16,
      });
      const { method, sent, body: arrived } = parseEcho(answer);
      const text = Buffer.from(arrived, 'base64').toString();
      if (method === 'POST' && sent === 'sent' && text === JSON.stringify(body)) return ok('yes', 'whole');
      throw new Error(`The agent saw ${method}, the header "${sent}" and ${text.length} characters.`);
    },
  },
  {
    capability: 'proxy-large',
    sentence: `A file of ${LARGE_FILE_BYTES / 2 ** 20} MiB comes through the proxy whole`,
    need: 'needed',
    async examine(deployment) {
      const { id } = await deployment.subject();
      const read = () => deployment.read(id, LARGE_FILE, 60_000, LARGE_FILE_BYTES);
      const isThere = async () => {
        const answer = await read();
        return answer.kind === 'answer' && answer.status === 200 ? answer.body.byteLength : undefined;
      };
      await deployment.poll('the large file', isThere, () => 'not there');
      const startedMs = performance.now();
      const sizeBytes = await isThere();
      const seconds = (performance.now() - startedMs) / 1000;
      if (sizeBytes !== LARGE_FILE_BYTES) throw new Error(`Only ${sizeBytes} bytes came.`);
      return ok('yes', `${Math.round(LARGE_FILE_BYTES / 1e6 / seconds)} MB/s`);
    },
  },
  {
    capability: 'proxy-not-listening',
    sentence: 'A port on which nobody listens is told from a sandbox that is gone',
    need: 'needed',
    async examine(deployment) {
      const { id } = await deployment.subject();
      const { api, signal } = deployment;
      const answer = await api.readThroughProxy(id, SILENT_PORT, '', {
        maxBytes: 2 ** 16,
        ...(signal && { signal }),
      });
      if (answer.kind === 'not-listening') return ok('yes', reasonIn(answer.message));
      if (answer.kind === 'unavailable' || answer.kind === 'no-address')
        return warn(answer.kind, answer.message);
      throw new Error(`It was answered with ${describe(answer)}.`);
    },
  },
  {
    capability: 'proxy-key-check',
    sentence: 'The proxy asks for the key',
    need: 'useful',
    async examine(deployment) {
      const { id } = await deployment.subject();
      const path = `/sandboxes/${id}/proxy/${AGENT_PORT}/state.json`;
      const { status } = await deployment.raw('GET', path, { key: null });
      if (status === 401 || status === 403) return ok('yes', `without a key: ${status}`);
      return warn('no', `without a key: ${status}; whoever knows an ID reads what the agent serves`);
    },
  },
  {
    capability: 'proxy-key-kept',
    sentence: 'The key does not reach the agent',
    need: 'useful',
    async examine(deployment) {
      const { key } = await echo(deployment, 'cgi-bin/echo');
      return key === 'no'
        ? ok('yes', 'the agent does not see the header')
        : warn('no', 'every agent is given the key of the API');
    },
  },
];

async function echo(deployment: Deployment, path: string): Promise<Echo> {
  const { id } = await deployment.subject();
  return parseEcho(await deployment.read(id, path));
}

type Answer = Awaited<ReturnType<Deployment['read']>>;

function parseEcho(answer: Answer): Echo {
  if (answer.kind === 'answer' && answer.status === 200) return JSON.parse(answer.body.toString('utf8'));
  throw new Error(`The agent did not tell what it saw: ${describe(answer)}.`);
}

function describe(answer: Answer): string {
  return answer.kind === 'answer' ? `status ${answer.status} of the agent` : answer.kind;
}
