/** The gateway: the data plane, on a port of its own, addressed by a header. */

import type { IncomingMessage } from 'node:http';
import { ApiError } from './errors.js';
import type { ProxyTarget } from './proxy.js';
import { parsePort } from './query.js';

/** @throws ApiError 400 when the header is missing or names no sandbox and port. */
export function gatewayTarget(request: IncomingMessage): ProxyTarget {
  const value = String(request.headers['opensandbox-ingress-to'] ?? '');
  const [, id, port] = /^(.+)-(\d+)$/.exec(value) ?? [];
  if (id === undefined || port === undefined) {
    const message = 'The header OpenSandbox-Ingress-To must be "{sandbox id}-{port}".';
    throw new ApiError(400, 'LOCAL::INGRESS_TARGET_INVALID', message);
  }
  return { id, port: parsePort(port), path: request.url ?? '/', prefix: '', isGateway: true };
}
