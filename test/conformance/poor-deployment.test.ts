/** A deployment that shows as little as the vendor's page promises is told to be limited, and not to be unusable. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { probeDeployment } from '../../conformance/probe-deployment.js';
import { summarize } from '../../conformance/summary.js';
import { API_KEY, startTestServer, type TestServer } from '../sandbox-server/support.js';

let behind: TestServer;
let poor: Server;
beforeAll(async () => {
  behind = await startTestServer();
  poor = createServer((request, response) => void forward(request, response)).listen(0, '127.0.0.1');
  await once(poor, 'listening');
});
afterAll(async () => {
  poor.close();
  await behind.end();
});

/** Labels are neither shown nor filtered by, pages do not say whether more follow, codes and requests have no names. */
async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const url = new URL(request.url ?? '/', behind.url);
  url.searchParams.delete('metadata');
  const isDiagnostics = url.pathname.includes('/diagnostics/');
  if (isDiagnostics && url.searchParams.has('scope')) {
    response.writeHead(501).end();
    return;
  }
  const answer = await fetch(url, {
    method: request.method ?? 'GET',
    headers: {
      'open-sandbox-api-key': String(request.headers['open-sandbox-api-key'] ?? ''),
      'content-type': 'application/json',
      'x-probe': String(request.headers['x-probe'] ?? ''),
    },
    ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
  });
  const body = Buffer.from(await answer.arrayBuffer());
  const isApi = !url.pathname.includes('/proxy/') && !isDiagnostics && body.byteLength > 0;
  response.writeHead(answer.status).end(isApi ? impoverish(body.toString()) : body);
}

function impoverish(text: string): string {
  return JSON.stringify(
    JSON.parse(text, (key, value) => {
      if (['metadata', 'hasNextPage', 'totalItems', 'totalPages', 'expiresAt'].includes(key))
        return undefined;
      return key === 'code' ? value.split('::').at(-1) : value;
    }),
  );
}

it('names every limit and finds nothing missing', async () => {
  const { port } = poor.address() as AddressInfo;
  const found = await probeDeployment({
    apiUrl: `http://127.0.0.1:${port}`,
    apiKey: API_KEY,
    persistence: 'extensions',
    image: 'any',
    agent: 'node',
    storageClass: 'local-path',
  });
  expect(found.filter(({ verdict }) => verdict === 'fail')).toEqual([]);
  const limits = found
    .filter(({ verdict }) => verdict === 'warn')
    .map((each) => [each.capability, each.found]);
  expect(Object.fromEntries(limits)).toMatchObject({
    'request-id': 'no',
    'metadata-echo': 'no',
    'metadata-filter': 'no',
    paging: 'pages',
    expiry: 'not shown',
  });
  expect(found.find(({ capability }) => capability === 'logs')?.found).toBe('text');
  expect((await behind.call('GET', '/sandboxes')).json.items).toEqual([]);
});

it('ends at once, with the reason, where the signal does', async () => {
  const options = {
    apiUrl: behind.url,
    apiKey: API_KEY,
    persistence: 'none',
    image: 'any',
    agent: 'node',
  } as const;
  const signal = AbortSignal.abort(new Error('enough'));
  const probe = probeDeployment({ ...options, storageClass: 'local-path', signal });
  await expect(probe).rejects.toThrow('enough');
});

it('sums times up by nearest rank', () => {
  expect(summarize([4, 1, 3, 2])).toEqual({ n: 4, p50: 2, p95: 4, min: 1, max: 4 });
  expect(() => summarize([])).toThrow('Nothing was measured');
});
