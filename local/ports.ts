/** Ports on loopback. */

import { createServer } from 'node:net';

/** The preferred port when it can be had, else one that is free now. */
export async function freePort(preferred = 0): Promise<number> {
  return (
    (await tryPort(preferred)) ??
    (await tryPort(0)) ??
    Promise.reject(new Error('No port is free on 127.0.0.1.'))
  );
}

function tryPort(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(null));
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : null));
    });
  });
}
