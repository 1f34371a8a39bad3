/** The environment that an entrypoint finds in a namespace of its own. */

import { dirname } from 'node:path';
import { type Place, SYSTEM_PATH } from './backend.js';
import { NODE_BINARY } from './staging.js';

export function isolatedEnvironment({ id }: Place): Record<string, string> {
  return {
    PATH: NODE_BINARY === null ? SYSTEM_PATH : `${SYSTEM_PATH}:${dirname(NODE_BINARY)}`,
    HOME: '/workspace',
    USER: 'sandbox',
    LOGNAME: 'sandbox',
    SHELL: '/bin/sh',
    TERM: 'dumb',
    LANG: 'C.UTF-8',
    HOSTNAME: hostnameOf(id),
  };
}

export function hostnameOf(id: string): string {
  return `sandbox-${id.slice(0, 8)}`;
}

/** What of the host's /etc is neither private nor dispensable. */
export const SHARED_ETC = ['ssl', 'ca-certificates', 'pki', 'alternatives', 'ld.so.cache', 'localtime'];

/** Generated: the host's own name its users. */
export const OWN_ETC = ['passwd', 'group', 'hosts'];

/** User and group of the entrypoint, as it sees them. */
export const INNER_ID = 1000;

export const TMP_SIZE_BYTES = 256 * 2 ** 20;
