#!/usr/bin/env node
/** The local sandbox server as a program: one JSON line on standard output when it listens. */

import { fstatSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { startSandboxServer } from './index.js';

const USAGE = `Usage: main.js --data DIR [--port N] [--gateway-port N] [--images DIR]
               [--backend bwrap|unshare|plain] [--pause-kind pod|frozen]
               [--answer-timeout SECONDS] [--faults] [--key KEY]
The API key is better given by OPEN_SANDBOX_API_KEY: arguments are readable by every user of the machine.`;

const log = (line: string) => console.error(`${new Date().toISOString()} ${line}`);

async function main(): Promise<void> {
  const { data, images, port, gatewayPort, apiKey, backend, pauseKind, answerTimeoutMs, faults } =
    readOptions();
  const server = await startSandboxServer({
    dataDir: data,
    port,
    gatewayPort,
    apiKey,
    pauseKind,
    answerTimeoutMs,
    faults,
    log,
    ...(images === undefined ? {} : { imagesDir: images }),
    ...(backend === undefined ? {} : { backend }),
  });
  const { url, gatewayUrl, notes } = server;
  for (const note of notes) log(note);
  if (faults) log(`Faults can be ordered: POST ${url}/__faults`);
  log(`Sandboxes by ${server.backend} at ${url}, gateway ${gatewayUrl}, data in ${data}`);
  console.log(JSON.stringify({ url, gatewayUrl, backend: server.backend, notes }));

  let stopping = false;
  const stop = (why: string) => {
    if (stopping) return;
    stopping = true;
    log(`${why}: stopping the sandboxes; the next server on this folder starts them again.`);
    server.close().then(
      () => process.exit(0),
      (error) => fail(error),
    );
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
  stopWithParent(() => stop('The starting process has ended'));
}

/** A supervisor that gives us a pipe as standard input closes it by its death, however that comes. */
function stopWithParent(stop: () => void): void {
  const input = fstatSync(0);
  if (!input.isFIFO() && !input.isSocket()) return;
  process.stdin.on('error', stop).on('end', stop).resume();
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      data: { type: 'string' },
      port: { type: 'string', default: '0' },
      'gateway-port': { type: 'string', default: '0' },
      images: { type: 'string' },
      key: { type: 'string' },
      backend: { type: 'string' },
      'pause-kind': { type: 'string', default: 'pod' },
      'answer-timeout': { type: 'string', default: '180' },
      faults: { type: 'boolean', default: false },
    },
  });
  const { backend, 'pause-kind': pauseKind } = values;
  if (backend !== undefined && backend !== 'bwrap' && backend !== 'unshare' && backend !== 'plain') {
    throw new Error(`--backend must be bwrap, unshare or plain, not "${backend}".\n${USAGE}`);
  }
  if (pauseKind !== 'pod' && pauseKind !== 'frozen') {
    throw new Error(`--pause-kind must be pod or frozen, not "${pauseKind}".\n${USAGE}`);
  }
  const apiKey = values.key ?? process.env.OPEN_SANDBOX_API_KEY ?? '';
  if (values.data === undefined || apiKey === '')
    throw new Error(`--data and an API key are needed.\n${USAGE}`);
  return {
    data: values.data,
    images: values.images,
    port: portOf('--port', values.port),
    gatewayPort: portOf('--gateway-port', values['gateway-port']),
    apiKey,
    backend,
    pauseKind,
    answerTimeoutMs: secondsOf('--answer-timeout', values['answer-timeout']) * 1000,
    faults: values.faults,
  } as const;
}

function portOf(name: string, text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new Error(`${name} must be a port from 0 (a free one) to 65535, not "${text}".`);
}

function secondsOf(name: string, text: string): number {
  if (/^\d{1,6}$/.test(text) && Number(text) > 0) return Number(text);
  throw new Error(`${name} must be a number of seconds, not "${text}".`);
}

function fail(error: unknown): never {
  log(error instanceof Error ? error.message : String(error));
  process.exit(1);
}

main().catch(fail);
