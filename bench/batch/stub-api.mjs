/**
 * As much of the Agent Sandboxes API as both contestants use, with no work behind it: sandboxes are Running at
 * once and their agents done at the first look. Counts what lives, so that leaks and windows show.
 */

import { once } from 'node:events';
import { createServer } from 'node:http';

export async function startStubApi() {
  const alive = new Map();
  const counts = { created: 0, deleted: 0, mostAlive: 0 };

  const server = createServer(async (request, response) => {
    const answer = (status, body) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(body === undefined ? undefined : JSON.stringify(body));
    };
    const path = request.url.split('?')[0].replace(/^\/v1/, '');
    let text = '';
    for await (const chunk of request) text += chunk;
    const [, id, rest = ''] = /^\/sandboxes\/([^/]+)(\/.*)?$/.exec(path) ?? [];
    if (request.method === 'POST' && path === '/sandboxes') {
      counts.created += 1;
      const created = `sb-${counts.created}`;
      alive.set(created, JSON.parse(text).metadata ?? {});
      counts.mostAlive = Math.max(counts.mostAlive, alive.size);
      return answer(202, view(created));
    }
    if (path === '/sandboxes') {
      return answer(200, { items: [...alive.keys()].map(view), pagination: { page: 1, hasNextPage: false } });
    }
    if (!alive.has(id))
      return answer(404, { code: 'KUBERNETES::SANDBOX_NOT_FOUND', message: 'no such sandbox' });
    if (request.method === 'DELETE') {
      alive.delete(id);
      counts.deleted += 1;
      return answer(204);
    }
    if (rest.startsWith('/proxy/')) return answer(200, { status: 'done', step: 1, result: { id } });
    return answer(200, view(id));
  });

  const view = (id) => ({
    id,
    status: { state: 'Running', reason: null, message: null },
    metadata: alive.get(id) ?? {},
  });

  server.keepAliveTimeout = 60_000;
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    counts,
    left: () => alive.size,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
