/**
 * No isolation: ordinary child processes of the server's own user. So that many sandboxes can each have
 * "their" port 8000, shims for Node.js and Python listen on a free port instead and write down which.
 */

import { join } from 'node:path';
import { env } from 'node:process';
import { type Backend, ENTER, type Place, SYSTEM_PATH } from './backend.js';

/** Its own process group is all that holds such a sandbox together. */
const FIRST_PROCESS = `
cd "$1/workspace" || exit 97; shift
exec 6>&2 2>/dev/null # what this shell says of its child's end is not the agent's
/bin/sh -c '${ENTER}' sh "$@" 2>&6 6>&-
code=$?
echo "exit $code" >&3
exit $code`;

export const plain: Backend = {
  name: 'plain',
  isolated: false,
  environment({ home }: Place): Record<string, string> {
    const workspace = join(home, 'workspace');
    return {
      PATH: env.PATH ?? SYSTEM_PATH,
      HOME: workspace,
      WORKSPACE: workspace,
      LANG: 'C.UTF-8',
      TERM: 'dumb',
      SANDBOX_PORTS: join(home, 'ports'),
      NODE_OPTIONS: `--require=${join(home, 'shims/shim.cjs')}`,
      PYTHONPATH: join(home, 'shims'),
    };
  },
  command({ home }: Place, entrypoint: readonly string[]): string[] {
    const workspace = join(home, 'workspace');
    const own = entrypoint.map((argument) => argument.replaceAll('/workspace', workspace));
    return ['/bin/sh', '-c', FIRST_PROCESS, 'sh', home, ...own];
  },
};

/** For `NODE_OPTIONS=--require`. */
export const NODE_SHIM = `'use strict';
const { Server } = require('node:net');
const { writeFileSync } = require('node:fs');
const folder = process.env.SANDBOX_PORTS;
const listen = Server.prototype.listen;
Server.prototype.listen = function (...args) {
  const first = args[0];
  const options = first !== null && typeof first === 'object' ? first : null;
  const port = Number(options === null ? first : options.port);
  if (!folder || !(port > 0)) return listen.apply(this, args);
  this.once('listening', () => writeFileSync(folder + '/' + port, String(this.address().port)));
  const callback = args.find((each) => typeof each === 'function');
  return listen.call(this, { ...options, port: 0, host: '127.0.0.1' }, callback);
};
`;

/** For `PYTHONPATH`: Python imports a module of this name at its start. */
export const PYTHON_SHIM = `import os, socket

_bind = socket.socket.bind


def bind(self, address):
    folder = os.environ.get('SANDBOX_PORTS')
    inet = self.family in (socket.AF_INET, socket.AF_INET6)
    if not folder or not inet or self.type & 15 != socket.SOCK_STREAM or not address[1]:
        return _bind(self, address)
    _bind(self, ('127.0.0.1' if self.family == socket.AF_INET else '::1', 0))
    with open(os.path.join(folder, str(address[1])), 'w') as file:
        file.write(str(self.getsockname()[1]))


socket.socket.bind = bind
`;
