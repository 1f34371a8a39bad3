/** Isolation by bubblewrap. */

import { lstatSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type Backend, ENTER, type Place } from './backend.js';
import {
  hostnameOf,
  INNER_ID,
  isolatedEnvironment,
  OWN_ETC,
  SHARED_ETC,
  TMP_SIZE_BYTES,
} from './isolated-environment.js';
import { NODE_BINARY, stage } from './staging.js';

export const bwrap: Backend = {
  name: 'bwrap',
  isolated: true,
  environment: isolatedEnvironment,
  command(place: Place, entrypoint: readonly string[]): string[] {
    const { home, workspace, node, imageRoot, command } = stage(place);
    return [
      ...command,
      'bwrap',
      ...['--unshare-all', '--unshare-user', '--disable-userns', '--new-session', '--cap-drop', 'ALL'],
      ...['--hostname', hostnameOf(place.id), '--uid', `${INNER_ID}`, '--gid', `${INNER_ID}`],
      ...['--ro-bind', `${imageRoot}/usr`, '/usr', ...topLevelFolders(place.image ?? '', imageRoot)],
      ...['--perms', '0755', '--dir', '/etc'],
      ...SHARED_ETC.flatMap((name) => ['--ro-bind-try', `${imageRoot}/etc/${name}`, `/etc/${name}`]),
      ...OWN_ETC.flatMap((name) => ['--ro-bind', join(home, 'etc', name), `/etc/${name}`]),
      ...(node !== null && NODE_BINARY !== null ? ['--ro-bind', node, NODE_BINARY] : []),
      ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/run'],
      ...['--perms', '1777', '--size', `${TMP_SIZE_BYTES}`, '--tmpfs', '/tmp'],
      ...['--bind', workspace, '/workspace', '--chdir', '/workspace'],
      ...['--json-status-fd', '5', '--', '/bin/sh', '-c', ENTER, 'sh', ...entrypoint],
    ];
  },
};

/**
 * /bin, /lib and so on: links into /usr on a merged system, folders on others.
 * @param root of the image as this process sees it; `mounted`: as bubblewrap does.
 */
function topLevelFolders(root: string, mounted: string): string[] {
  return ['bin', 'sbin', 'lib', 'lib32', 'lib64'].flatMap((name) => {
    const path = `/${name}`;
    const found = lstatSync(`${root}${path}`, { throwIfNoEntry: false });
    if (found === undefined) return [];
    return found.isSymbolicLink()
      ? ['--symlink', readlinkSync(`${root}${path}`), path]
      : ['--ro-bind', `${mounted}${path}`, path];
  });
}
