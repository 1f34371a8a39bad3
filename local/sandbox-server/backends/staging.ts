/**
 * First steps of the isolating back ends. As root: a mount namespace in which the sandbox's folder is
 * /mnt, so that a user without rights can use it wherever the data folder is, and then one host user
 * per sandbox. (User 0 of the host in a user namespace could still write the host's /proc/sys.)
 */

import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { execPath } from 'node:process';
import type { Place } from './backend.js';

const STAGE =
  'mount --bind "$1" /mnt && { [ -z "$2" ] || mount --bind "$2" /mnt/node; } && ' +
  '{ [ -z "$3" ] || mount --rbind "$3" /mnt/image; } && ' +
  '{ [ -z "$4" ] || mount --bind "$4" /mnt/volume; } && shift 4 && exec "$@"';

/** Node.js for the entrypoints, when the /usr that they see does not have it. */
export const NODE_BINARY = ((file) => (file.startsWith('/usr/') ? null : file))(realpathSync(execPath));

export interface Stage {
  /** Where the sandbox's folder is for the commands that follow. */
  readonly home: string;
  /** Where the workspace is for them. */
  readonly workspace: string;
  /** Where the Node.js binary is for them. */
  readonly node: string | null;
  /** What the paths of the image begin with for them; empty: those of the host. */
  readonly imageRoot: string;
  readonly command: readonly string[];
}

export function stage({ home, uid, image, volume }: Place): Stage {
  if (uid === null) {
    const workspace = volume ?? join(home, 'workspace');
    return { home, workspace, node: NODE_BINARY, imageRoot: image ?? '', command: [] };
  }
  const mounts = ['unshare', '-m', '--propagation', 'private', '--', '/bin/sh', '-c', STAGE, 'sh'];
  const drop = ['setpriv', '--reuid', `${uid}`, '--regid', `${uid}`, '--clear-groups', '--'];
  return {
    home: '/mnt',
    workspace: volume === null ? '/mnt/workspace' : '/mnt/volume',
    node: NODE_BINARY === null ? null : join('/mnt', 'node'),
    imageRoot: image === null ? '' : join('/mnt', 'image'),
    command: [...mounts, home, NODE_BINARY ?? '', image ?? '', volume ?? '', ...drop],
  };
}
