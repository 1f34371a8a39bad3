/** The client of the data plane against the local sandbox server, and against answers that no server should give. */

import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { connectDataPlane, type DataPlane, type StreamEvent } from '../../activities/sandbox-api/index.js';
import { IDLE } from '../sandbox-server/execd-support.js';
import { API_KEY, startTestServer, type TestServer } from '../sandbox-server/support.js';
import { type Behaviour, html, json, reset, scriptedApi } from '../support/scripted-api.js';
import { everythingOf, KEY } from './connect.js';

let server: TestServer;
let id: string;
beforeAll(async () => {
  server = await startTestServer();
  id = await server.create(IDLE);
});
afterAll(async () => {
  await server.end();
});

describe.each(['proxy', 'gateway'] as const)('the data plane by the %s', (way) => {
  let plane: DataPlane;
  beforeAll(() => {
    plane = connectDataPlane({
      apiUrl: `${server.url}/v1/`,
      apiKey: API_KEY,
      gatewayUrl: way === 'gateway' ? server.gatewayUrl : null,
    });
  });
  afterAll(async () => {
    await plane.close();
  });
  const run = async (command: string, more = {}) => {
    const events: StreamEvent[] = [];
    const result = await plane.runCommand(id, { command, ...more }, (event) => void events.push(event));
    return {
      ...result,
      events,
      output: events.flatMap((each) => (each.kind === 'stdout' ? [each.text] : [])),
    };
  };

  it.each([
    ['a text', (content: string) => content],
    ['bytes', (content: string) => Buffer.from(content)],
    ['a stream', (content: string) => Readable.from([content.slice(0, 3), content.slice(3)])],
  ])('uploads %s, and gives it back', async (_, form) => {
    const path = `/workspace/${way}/new/ü ?&.txt`;
    await plane.uploadFile(id, path, form('wörds\r\n--longhaul'), { mode: '640' });
    const download = await plane.downloadFile(id, path);
    expect(download?.sizeBytes).toBe(18);
    expect(await text(download?.body ?? Readable.from([]))).toBe('wörds\r\n--longhaul');
    expect(await plane.fileInfo(id, path)).toEqual({
      path,
      type: 'file',
      sizeBytes: 18,
      modifiedAt: expect.stringMatching(/Z$/),
      mode: '640',
    });
  });

  it('uploads nothing as an empty file', async () => {
    await plane.uploadFile(id, '/workspace/empty', '');
    expect(await plane.fileInfo(id, '/workspace/empty')).toMatchObject({ sizeBytes: 0 });
  });

  it('downloads a part, and knows the size of the whole', async () => {
    await plane.uploadFile(id, '/workspace/digits', '0123456789');
    for (const [range, expected] of [
      [{ first: 2, last: 4 }, '234'],
      [{ first: 8 }, '89'],
    ] as const) {
      const part = await plane.downloadFile(id, '/workspace/digits', { range });
      expect(part?.sizeBytes).toBe(10);
      expect(await text(part?.body ?? Readable.from([]))).toBe(expected);
    }
    const beyond = plane.downloadFile(id, '/workspace/digits', { range: { first: 10 } });
    await expect(beyond).rejects.toMatchObject({ name: 'RefusedError', status: 416 });
  });

  it('has null for what is not there', async () => {
    expect(await plane.downloadFile(id, '/workspace/nope')).toBeNull();
    expect(await plane.fileInfo(id, '/workspace/nope')).toBeNull();
  });

  it('finds files by pattern', async () => {
    await plane.uploadFile(id, '/workspace/found/deep/a.md', 'x');
    await plane.uploadFile(id, '/workspace/found/b.txt', 'x');
    const found = await plane.searchFiles(id, '/workspace/found', '*.md');
    expect(found.map(({ path }) => path)).toEqual(['/workspace/found/deep/a.md']);
  });

  it('runs a command, tells what it writes, and gives its exit code', async () => {
    const { exitCode, events, output } = await run('echo one; echo; echo two >&2; pwd; echo "$A"; exit 7', {
      cwd: '/tmp',
      envs: { A: 'b c' },
    });
    expect(exitCode).toBe(7);
    expect(output).toEqual(['one\n', '\n', '/tmp\n', 'b c\n']);
    expect(events[0]).toEqual({ kind: 'started', commandId: expect.stringMatching(/^[0-9a-f]{32}$/) });
    expect(events).toContainEqual({ kind: 'stderr', text: 'two\n' });
    expect(events.at(-1)).toEqual({ kind: 'ended', exitCode: 7, reason: 'exit status 7' });
    expect((await run('true')).exitCode).toBe(0);
  });

  it('has -1 for a command that a signal has ended, also at its time limit', async () => {
    expect((await run('sleep 1000', { timeoutMs: 100 })).exitCode).toBe(-1);
  });

  it('waits for whoever is told, and fails with his error', async () => {
    let isBusy = false;
    await plane.runCommand(id, { command: 'seq 20' }, async () => {
      expect(isBusy).toBe(false);
      isBusy = true;
      await new Promise((resolve) => setImmediate(resolve));
      isBusy = false;
    });
    const failure = new Error('no more');
    const failed = plane.runCommand(id, { command: 'echo x' }, () => Promise.reject(failure));
    await expect(failed).rejects.toBe(failure);
  });

  it('ends a command when its signal is aborted, with the reason of the signal', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const running = plane.runCommand(
      id,
      { command: 'echo ready; sleep 54321' },
      ({ kind }) => {
        if (kind === 'stdout') controller.abort(reason);
      },
      { signal: controller.signal },
    );
    await expect(running).rejects.toBe(reason);
    expect((await run('ps ax | grep "[s]leep 54321"')).exitCode).toBe(1);
  });

  it('refuses what cannot be run or written', async () => {
    await expect(run('pwd', { cwd: '/nope' })).rejects.toMatchObject({
      name: 'RefusedError',
      status: 400,
      message: expect.stringContaining('working directory does not exist: /nope'),
    });
    await expect(plane.uploadFile(id, '/usr/x', 'x')).rejects.toMatchObject({
      name: 'RefusedError',
      code: 'RUNTIME_ERROR',
    });
  });

  it('writes nothing when the source fails, whose error it gives', async () => {
    const failure = new Error('the disk is gone');
    const source = Readable.from(
      (async function* () {
        yield 'some';
        throw failure;
      })(),
    );
    await expect(plane.uploadFile(id, '/workspace/half', source)).rejects.toBe(failure);
    expect(await plane.fileInfo(id, '/workspace/half')).toBeNull();
  });

  it('tells a paused sandbox and one that does not exist apart', async () => {
    const paused = await server.create(IDLE);
    await server.call('POST', `/sandboxes/${paused}/pause`);
    await server.untilState(paused, 'Paused');
    await expect(plane.fileInfo(paused, '/workspace')).rejects.toMatchObject({
      name: 'ConflictError',
      code: 'POD_IP_NOT_AVAILABLE',
    });
    await expect(plane.fileInfo('00000000-0000', '/workspace')).rejects.toMatchObject({
      name: 'SandboxNotFoundError',
    });
  });

  it('is unreachable when the sandbox is paused in the middle of a command', async () => {
    const other = await server.create(IDLE);
    const running = plane.runCommand(other, { command: 'echo ready; sleep 1000' }, async ({ kind }) => {
      if (kind === 'stdout') await server.call('POST', `/sandboxes/${other}/pause`);
    });
    await expect(running).rejects.toMatchObject({ name: 'UnreachableError', ambiguous: true });
  });
});

describe('the data plane of a strange server', () => {
  async function planeAt(behaviour: Behaviour, idleTimeoutMs = 2000): Promise<DataPlane> {
    const api = await scriptedApi(() => behaviour);
    const plane = connectDataPlane({ apiUrl: api.url, apiKey: KEY, idleTimeoutMs });
    onTestFinished(async () => {
      await plane.close();
      await api.close();
    });
    return plane;
  }
  const streaming =
    (body: string, ends = true): Behaviour =>
    (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(body);
      if (ends) response.end();
    };
  const run = (plane: DataPlane) => plane.runCommand('sb-1', { command: 'x' }, () => undefined);

  it('understands real server-sent events, and ignores what it does not know', async () => {
    const body = ': hello\n\nevent: x\ndata: {"type":"news"}\n\ndata: {"type":"execution_complete"}\n\n';
    expect(await run(await planeAt(streaming(body)))).toEqual({ exitCode: 0 });
  });

  it.each<[string, Behaviour, object]>([
    ['a stream that ends too early', streaming('{"type":"init","text":"a"}\n\n'), { ambiguous: true }],
    ['a stream of nonsense', streaming('{"type":\n\n'), { ambiguous: true }],
    ['a stream that says nothing for too long', streaming('{"type":"init"}\n\n', false), { ambiguous: true }],
    ['a page', html(503), { status: 503 }],
    ['a reset', reset, {}],
    ['nobody', json(502, { code: 'BACKEND_CONNECTION_FAILED', message: 'm' }), { ambiguous: false }],
  ])('is unreachable after %s', async (_, behaviour, expected) => {
    const error = await run(await planeAt(behaviour, 300)).catch((reason) => reason);
    expect(error).toMatchObject({ name: 'UnreachableError', ...expected });
    expect(everythingOf(error)).not.toContain(KEY);
  });

  it.each<[string, Behaviour, string]>([
    [
      'a command that was never run',
      streaming('{"type":"error","error":{"evalue":"no shell"}}\n\n'),
      'RefusedError',
    ],
    ['an error that comes late', streaming('{"type":"init"}\n\n{"code":"RUNTIME_ERROR"}'), 'RefusedError'],
    ['a wrong key', json(401, { code: 'INVALID_API_KEY', message: 'm' }), 'KeyRejectedError'],
    ['too many requests', json(429, {}), 'RateLimitedError'],
    ['no execd in this deployment', json(501, { code: 'NOT_IMPLEMENTED', message: 'm' }), 'UnsupportedError'],
  ])('says %s', async (_, behaviour, name) => {
    await expect(run(await planeAt(behaviour))).rejects.toMatchObject({ name });
  });

  it('is unreachable with an answer that is not a list of files', async () => {
    const plane = await planeAt(json(200, { files: [] }));
    await expect(plane.searchFiles('sb-1', '/', '*')).rejects.toMatchObject({ name: 'UnreachableError' });
  });

  it('takes no key that no header can carry', () => {
    expect(() => connectDataPlane({ apiUrl: 'http://x', apiKey: 'a\nb' })).toThrow(TypeError);
  });
});
