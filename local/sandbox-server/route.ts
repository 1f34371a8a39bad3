/** What a path of the API names. Nothing is decoded: a proxied path belongs to the agent. */

import type { ProxyTarget } from './proxy.js';
import { parsePort } from './query.js';

export interface Route {
  /** `/v1` or nothing. */
  readonly version: string;
  readonly segments: readonly string[];
  /** The path without the version. */
  readonly path: string;
  readonly search: string;
}

export function parseRoute(url: string): Route {
  const end = url.indexOf('?');
  const [full, search] = end === -1 ? [url, ''] : [url.slice(0, end), url.slice(end)];
  const version = /^\/v1(?=\/|$)/.exec(full)?.[0] ?? '';
  const path = full.slice(version.length);
  return { version, path, search, segments: path.split('/').slice(1) };
}

/**
 * Upstream's proxy takes a path apart and puts it together again: `%2F` becomes a slash, leading slashes
 * become one. The gateway passes paths as they are.
 */
function asUpstreamPasses(path: string): string {
  const bytes = path.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  const text = new TextDecoder().decode(Buffer.from(bytes, 'latin1'));
  const escaped = text.replace(/[^!$-;=@-_a-z|~]+|%(?![0-9A-Fa-f]{2})/g, encodeURIComponent);
  return `/${escaped.replace(/^\/+/, '')}`;
}

/**
 * `null`: it is not below a sandbox's `proxy`. Read late (`() => …`), because a method that is not allowed
 * is refused before a bad port is.
 */
export function proxyTarget({ version, segments, path, search }: Route): (() => ProxyTarget) | null {
  const [root, id, verb, port] = segments;
  if (root !== 'sandboxes' || verb !== 'proxy' || id === undefined || port === undefined) return null;
  const prefix = `/sandboxes/${id}/proxy/${port}`;
  const rest = asUpstreamPasses(path.slice(prefix.length));
  return () => ({
    id,
    port: parsePort(port),
    path: rest + search,
    prefix: version + prefix,
    isGateway: false,
  });
}
