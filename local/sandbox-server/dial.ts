/** How the server reaches a port of a sandbox. */

import { spawn } from 'node:child_process';
import { createConnection, type Socket } from 'node:net';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import type { Backend } from './backends/backend.js';
import { Broker, findPython } from './broker.js';
import { isAlive, type ProcessIdentity, readText } from './processes.js';

/** Where to connect to: the first process of a sandbox, and the sandbox's folder. */
export interface Target {
  readonly init: ProcessIdentity | null;
  readonly home: string;
}

export interface Dialer {
  /** For `notes`: how connections are made when it is not the usual way. */
  readonly note: string | null;
  /** @throws Error when nobody listens there. */
  connect(target: Target, port: number): Promise<Duplex>;
  close(): void;
}

const BASH_RELAY = 'exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 1; echo; cat <&3 & exec cat >&3';

export function createDialer(backend: Backend, python = findPython()): Dialer {
  if (!backend.isolated) return { note: null, connect: connectToShim, close: () => undefined };
  if (python === null) {
    const note = 'No python3: connections into sandboxes are made by nsenter and bash, at some ms each.';
    return { note, connect: connectByShell, close: () => undefined };
  }
  const broker = new Broker(python);
  return {
    note: null,
    connect: async ({ init }, port) => broker.connect(living(init), port),
    close: () => broker.close(),
  };
}

function living(init: ProcessIdentity | null): ProcessIdentity {
  if (!isAlive(init)) throw new Error('The sandbox has ended.');
  return init;
}

/** The first byte says that the connection stands; what follows is the stream. */
async function connectByShell({ init }: Target, port: number): Promise<Duplex> {
  const enter = process.getuid?.() === 0 ? ['-n'] : ['-U', '-n', '--preserve-credentials'];
  const command = ['-t', `${living(init).pid}`, ...enter, '--', 'bash', '-c', BASH_RELAY, 'bash', `${port}`];
  const relay = spawn('nsenter', command, {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { PATH: process.env.PATH },
  });
  return await new Promise((resolve, reject) => {
    relay.once('error', reject);
    relay.once('exit', () => reject(new Error('Connection refused')));
    relay.stdin.on('error', () => undefined);
    relay.stdout.once('readable', () => {
      if (relay.stdout.read(1) === null) return;
      const stream = Duplex.from({ writable: relay.stdin, readable: relay.stdout });
      stream.once('close', () => relay.kill('SIGKILL'));
      resolve(stream);
    });
  });
}

function connectToShim({ home }: Target, port: number): Promise<Socket> {
  const actual = Number(readText(join(home, 'ports', `${port}`)));
  if (!(actual > 0)) return Promise.reject(new Error('Connection refused'));
  return new Promise((resolve, reject) => {
    const socket = createConnection(actual, '127.0.0.1', () => resolve(socket));
    socket.once('error', reject);
  });
}
