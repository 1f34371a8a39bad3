/** `GET /healthz` for supervisors: 200 while the worker polls, 503 while it starts or stops. */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HealthEndpoint {
  readonly url: string;
  close(): Promise<void>;
}

export async function serveHealth(
  at: { readonly host: string; readonly port: number },
  report: () => { readonly state: string; readonly watching: number },
): Promise<HealthEndpoint> {
  const server = createServer((request, response) => {
    if (request.url !== '/healthz') return void response.writeHead(404).end();
    const health = report();
    response.writeHead(health.state === 'RUNNING' ? 200 : 503, { 'content-type': 'application/json' });
    response.end(JSON.stringify(health));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(at.port, at.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://${at.host}:${port}/healthz`, close: () => closeServer(server) };
}

function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
