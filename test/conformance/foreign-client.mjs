/**
 * Takes a sandbox through its life with the npm package `@alibaba-group/opensandbox`, one step after the other.
 *
 * Prints a JSON line for each step: {"step", "error"}. Takes SANDBOX_DOMAIN, OPEN_SANDBOX_API_KEY,
 * SANDBOX_IMAGE, and SANDBOX_BY (`gateway`: by the endpoints that the API gives, `proxy`: through the API server).
 */

import { deepStrictEqual as expect } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Sandbox, SandboxManager } from '@alibaba-group/opensandbox';

const FOLDER = '/workspace/foreign';
const FILE = `${FOLDER}/a.txt`;
const LABEL = { client: `npm-${randomUUID().slice(0, 12)}` };
const CONTENT = 'grüße\n'.repeat(100_000);
const {
  SANDBOX_DOMAIN: domain,
  OPEN_SANDBOX_API_KEY: apiKey,
  SANDBOX_IMAGE: image,
  SANDBOX_BY: by,
} = process.env;
const connectionConfig = { domain, apiKey, useServerProxy: by === 'proxy', disableMetrics: true };

/** Runs one step; a failure is told, and ends nothing. */
async function step(name, work) {
  let result = null;
  let error = null;
  try {
    result = await work();
  } catch (reason) {
    error = `${reason?.name}: ${reason?.message}`;
  }
  console.log(JSON.stringify({ step: name, error }));
  return result;
}

function create() {
  return Sandbox.create({
    connectionConfig,
    image,
    entrypoint: ['sleep', '3600'],
    env: { FOREIGN: 'set' },
    metadata: LABEL,
    resource: { cpu: '500m', memory: '256Mi' },
    timeoutSeconds: 600,
    extensions: { persistence: 'true' },
    skipHealthCheck: true,
  });
}

async function lifecycle(sandbox) {
  const manager = SandboxManager.create({ connectionConfig });
  await step('info', async () => expect((await sandbox.getInfo()).status.state, 'Running'));
  await step('list by metadata', async () => {
    const { items } = await manager.listSandboxInfos({ metadata: LABEL });
    expect(
      items.map(({ id }) => id),
      [sandbox.id],
    );
  });
  await step('list by state', async () =>
    expect((await manager.listSandboxInfos({ states: ['Paused'] })).items, []),
  );
  await step('patch metadata', () => sandbox.patchMetadata({ more: '1' }));
  await step('renew', () => sandbox.renew(1200));
  await step('endpoint', () => sandbox.getEndpointUrl(8000));
  await manager.close();
}

async function commands(sandbox) {
  const { commands } = sandbox;
  const texts = (lines) => lines.map(({ text }) => text);
  await step('health', async () => expect(await sandbox.isHealthy(), true));
  await step('output of a command', async () => {
    const { logs, exitCode } = await commands.run('echo out; echo err >&2; echo $FOREIGN');
    expect([texts(logs.stdout), texts(logs.stderr), exitCode], [['out', 'set'], ['err'], 0]);
  });
  await step('exit code of a command', async () => {
    const { error, exitCode } = await commands.run('exit 3');
    expect([error?.value, exitCode], ['3', 3]);
  });
  await step('folder and environment of a command', async () => {
    const options = { workingDirectory: '/tmp', envs: { MORE: 'a b' } };
    expect(texts((await commands.run('pwd; echo "$MORE"', options)).logs.stdout), ['/tmp', 'a b']);
  });
  await step('time limit of a command', async () => {
    const { error } = await commands.run('sleep 30', { timeoutSeconds: 1 });
    if (error === undefined) throw new Error('the command ended without an error');
  });
  await step('command in the background', async () => {
    const { id } = await commands.run('echo begun; sleep 30', { background: true });
    expect((await commands.getCommandStatus(id)).running, true);
    await until('begun in its logs', async () =>
      (await commands.getBackgroundCommandLogs(id)).content.includes('begun'),
    );
    await commands.interrupt(id);
    await until('its end', async () => !(await commands.getCommandStatus(id)).running);
  });
  await step('session', async () => {
    const session = await commands.createSession({ workingDirectory: '/tmp' });
    await commands.runInSession(session, 'export kept=yes');
    expect(texts((await commands.runInSession(session, 'echo "$kept"; pwd')).logs.stdout), ['yes', '/tmp']);
    await commands.deleteSession(session);
  });
  await step('metrics', () => sandbox.metrics.getMetrics());
}

async function files({ files, commands }) {
  const moved = `${FOLDER}/c.txt`;
  const paths = (entries) => entries.map(({ path }) => path);
  await step('make a folder', () => files.createDirectories([{ path: FOLDER, mode: 755 }]));
  await step('write a file', () => files.writeFiles([{ path: FILE, data: CONTENT, mode: 640 }]));
  await step('read a file', async () => expect(await files.readFile(FILE), CONTENT));
  await step('read a range', async () =>
    expect(
      Buffer.from(await files.readBytes(FILE, { range: 'bytes=0-2' })),
      Buffer.from('grü').subarray(0, 3),
    ),
  );
  await step('info of a file', async () => {
    const { size, mode, type } = (await files.getFileInfo([FILE]))[FILE];
    expect([size, mode, type], [Buffer.byteLength(CONTENT), 640, 'file']);
  });
  await step('search', async () =>
    expect(paths(await files.search({ path: FOLDER, pattern: '*.txt' })), [FILE]),
  );
  await step('list a folder', async () => expect(paths(await files.listDirectory({ path: FOLDER })), [FILE]));
  await step('permissions', () => files.setPermissions([{ path: FILE, mode: 600 }]));
  await step('move', () => files.moveFiles([{ src: FILE, dest: moved }]));
  await step('replace in a file', async () => {
    await files.replaceContents([{ path: moved, oldContent: 'grüße', newContent: 'hello' }]);
    expect((await files.readFile(moved)).slice(0, 5), 'hello');
  });
  await step('delete files and folders', async () => {
    await files.deleteFiles([moved]);
    await files.deleteDirectories([FOLDER]);
    expect((await commands.run(`test -e ${FOLDER}`)).exitCode, 1);
  });
}

async function until(what, condition) {
  const deadline = Date.now() + 20_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`waited too long for ${what}`);
    await sleep(20);
  }
}

/** Create and resume answer before it listens. */
function dataPlane(sandbox) {
  const budget = { readyTimeoutSeconds: 10, pollingIntervalMillis: 50 };
  return step('ready', () => sandbox.waitUntilReady(budget).then(() => true));
}

const sandbox = await step('create', create);
if (sandbox !== null) {
  await lifecycle(sandbox);
  const isReady = await dataPlane(sandbox);
  if (isReady) {
    await commands(sandbox);
    await files(sandbox);
    await step('keep a file', () =>
      sandbox.files.writeFiles([{ path: '/workspace/kept', data: 'kept', mode: 644 }]),
    );
  }
  await step('pause', () => sandbox.pause());
  await step('state Paused', () =>
    until('Paused', async () => (await sandbox.getInfo()).status.state === 'Paused'),
  );
  const resumed = await step('resume', () => sandbox.resume({ skipHealthCheck: true }));
  if (isReady && resumed !== null && (await dataPlane(resumed))) {
    await step('kept file', async () => expect(await resumed.files.readFile('/workspace/kept'), 'kept'));
  }
  await step('kill', () => sandbox.kill());
  await sandbox.close();
  await resumed?.close();
}
