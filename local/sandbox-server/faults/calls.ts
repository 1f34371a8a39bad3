/** Tells what a request is about, for rules that strike some requests only. */

import type { IncomingMessage } from 'node:http';
import type { ProxyTarget } from '../proxy.js';
import { Query } from '../query.js';
import { readJson } from '../respond.js';
import { parseRoute } from '../route.js';
import { parseLabels } from '../views.js';
import type { Call, Faults, Operation } from './faults.js';

/** A request to the API. One that is malformed is told apart as far as it can be read. */
export async function apiCall(faults: Faults, request: IncomingMessage): Promise<Call> {
  const { path, search, segments } = parseRoute(request.url ?? '/');
  const { method = 'GET' } = request;
  const [root, id = '', verb] = segments;
  if (root !== 'sandboxes') return { operation: 'other', method, path, sandboxId: null, labels: {} };
  if (id !== '') {
    const operation = operationOfSandbox(method, verb);
    return { operation, method, path, sandboxId: id, labels: faults.history.labelsOf(id) };
  }
  const call = { method, path, sandboxId: null };
  if (method === 'POST') {
    const body = await readJson(request).catch(() => null);
    const metadata = (body as { metadata?: unknown } | null)?.metadata;
    return { ...call, operation: 'create', labels: { ...(metadata as Record<string, string> | null) } };
  }
  return { ...call, operation: method === 'GET' ? 'list' : 'other', labels: askedFor(search) };
}

/** A request to the gateway. */
export function gatewayCall(faults: Faults, request: IncomingMessage, target: ProxyTarget): Call {
  const { id, port } = target;
  const [path = '/'] = (request.url ?? '/').split('?');
  return {
    operation: 'proxy',
    method: request.method ?? 'GET',
    path: `/gateway/${id}/${port}${path}`,
    sandboxId: id,
    labels: faults.history.labelsOf(id),
  };
}

function operationOfSandbox(method: string, verb: string | undefined): Operation {
  if (verb === undefined && method === 'GET') return 'get';
  if (verb === 'proxy') return 'proxy';
  if (method === 'POST' && (verb === 'pause' || verb === 'resume')) return verb;
  return 'other-of-sandbox';
}

function askedFor(search: string): Readonly<Record<string, string>> {
  try {
    return Object.fromEntries(parseLabels(new Query(search).last('metadata') ?? ''));
  } catch {
    return {};
  }
}
