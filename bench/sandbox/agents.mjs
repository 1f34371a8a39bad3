/** The agents whose starts are measured, each as a sandbox's entrypoint and as a process of this machine. */

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';

const NODE_AGENT = `
const block = Buffer.alloc(2 ** 20);
require('node:http').createServer((request, response) => {
  if (request.url !== '/large') return response.end('ok');
  let left = Number(process.env.LARGE_MIB ?? 256);
  response.setHeader('content-length', left * block.length);
  const more = () => {
    while (left-- > 0) if (!response.write(block)) return response.once('drain', more);
    response.end();
  };
  more();
}).listen(Number(process.env.PORT ?? 8000));
process.on('SIGTERM', () => process.exit(0));
`;

export const LARGE_MIB = 256;

export const NODE = { name: 'node', entrypoint: ['node', '-e', NODE_AGENT], path: '/', is: 'Node.js, -e' };

/** Busybox is one static program of 2 MB on Debian, in the images of the real server too. */
const BUSYBOX = '/bin/busybox';
export const STATIC = {
  name: 'static',
  entrypoint: [BUSYBOX, 'httpd', '-f', '-p', '8000', '-h', '/'],
  path: '/etc/passwd',
  is: 'busybox httpd',
};

/** Those that this machine has: sandboxes of the local server see its programs. */
export function agents() {
  return existsSync(BUSYBOX) ? [NODE, STATIC] : [NODE];
}

/** The agent as a process of this machine, without any sandbox. */
export function startOnHost({ name, entrypoint }, port) {
  const [program, ...args] = name === 'static' ? entrypoint.with(4, `${port}`) : entrypoint;
  return spawn(program, args, { env: { PATH: process.env.PATH, PORT: `${port}` }, stdio: 'ignore' });
}
