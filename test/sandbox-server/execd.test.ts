/** Commands inside sandboxes, in the forms of execd; by each back end that works here. */

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Execd, eventsOf, execdOf, IDLE, workingBackends } from './execd-support.js';
import { API_KEY, startTestServer, type TestServer, until } from './support.js';

describe.each(await workingBackends())('execd in a sandbox by %s', (backend) => {
  let server: TestServer;
  let execd: Execd;
  beforeAll(async () => {
    server = await startTestServer({ backend });
    execd = execdOf(server, await server.create({ ...IDLE, env: { GREETING: "it's me" } }));
  });
  afterAll(async () => {
    await server.end();
  });

  test('answers a ping, by the proxy and by the gateway', async () => {
    expect(await execd.call('GET', '/ping')).toMatchObject({ status: 200, text: '' });
    const headers = { 'OpenSandbox-Ingress-To': `${execd.id}-44772` };
    const atGateway = await fetch(`${server.gatewayUrl}/ping`, { headers });
    expect([atGateway.status, await atGateway.text()]).toEqual([200, '']);
  });

  test('runs a command, and tells what it writes line by line, in lines of JSON without data:', async () => {
    const answer = await execd.call('POST', '/command', {
      command: 'printf "one\\n\\ntwo\\r\\nthree"; sleep 0.05; echo wrong >&2',
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    const events = eventsOf(answer.text);
    const timestamp = expect.any(Number);
    const id = events[0]?.text;
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(events.slice(0, 2)).toEqual([
      { type: 'init', text: id, timestamp },
      { type: 'ping', text: 'pong', timestamp },
    ]);
    expect(events.filter(({ type }) => type === 'stdout').map(({ text }) => text)).toEqual([
      'one',
      '\n',
      'two',
      'three',
    ]);
    expect(events.filter(({ type }) => type === 'stderr')).toEqual([
      { type: 'stderr', text: 'wrong', timestamp },
    ]);
    expect(events.at(-1)).toEqual({
      type: 'execution_complete',
      execution_time: expect.any(Number),
      timestamp,
    });
    const status = await execd.call('GET', `/command/status/${id}`);
    expect(status.json).toEqual({
      id,
      content: expect.stringContaining('sleep 0.05'),
      running: false,
      exit_code: 0,
      started_at: expect.stringMatching(/Z$/),
      finished_at: expect.stringMatching(/Z$/),
    });
    const logs = await execd.call('GET', `/command/${id}/logs`);
    expect([logs.status, logs.json]).toEqual([
      400,
      { code: 'INVALID_REQUEST_BODY', message: `command ${id} is not running in background` },
    ]);
  });

  test.each([
    ['exit 3', '3', 'exit status 3'],
    ['no-such-program 2>/dev/null', '127', 'exit status 127'],
    ['kill -KILL $$', '-1', 'signal: killed'],
    ['kill -TERM $$', '-1', 'signal: terminated'],
  ])('tells how "%s" ended', async (command, evalue, reason) => {
    const events = await execd.run(command);
    const error = { ename: 'CommandExecError', evalue, traceback: [reason] };
    expect(events.at(-1)).toEqual({ type: 'error', timestamp: expect.any(Number), error });
    const { json } = await execd.call('GET', `/command/status/${events[0]?.text}`);
    expect(json).toMatchObject({ running: false, exit_code: Number(evalue), error: reason });
  });

  test('has the environment of the sandbox, and what the request adds', async () => {
    const command = 'echo "$GREETING, $EXTRA, $OPENSANDBOX_ID"; pwd; cat; echo x > /dev/stdout; echo "$1"';
    const text = await execd.output({ command, envs: { EXTRA: 'a\nb $HOME' } });
    const workspace = await execd.output('cd /workspace; pwd');
    expect(text).toBe(`it's me, a\nb $HOME, ${execd.id}\n${workspace}x\n\n`);
  });

  test('begins in the folder that was asked for', async () => {
    await execd.output('mkdir -p /workspace/deep/er');
    const workspace = (await execd.output('cd /workspace; pwd')).trim();
    expect(await execd.output({ command: 'pwd', cwd: '/workspace/deep' })).toBe(`${workspace}/deep\n`);
    expect(await execd.output({ command: 'pwd', cwd: '~/deep/er' })).toBe(`${workspace}/deep/er\n`);
    const refused = await execd.call('POST', '/command', { command: 'pwd', cwd: '/nope' });
    expect([refused.status, refused.json]).toEqual([
      400,
      {
        code: 'INVALID_REQUEST_BODY',
        message:
          'invalid request, validation error working directory does not exist: /nope: stat /nope: no such file or directory',
      },
    ]);
  });

  test.each([
    ['', 'error parsing request, MAYBE invalid body format. EOF'],
    ['{', 'error parsing request, MAYBE invalid body format. '],
    ['[]', 'error parsing request, MAYBE invalid body format. json: cannot unmarshal array into Go value'],
    [
      {},
      "Key: 'RunCommandRequest.Command' Error:Field validation for 'Command' failed on the 'required' tag",
    ],
    [{ command: 5 }, 'cannot unmarshal number into Go struct field RunCommandRequest.command of type string'],
    [{ command: 'x', timeout: -1 }, "Field validation for 'TimeoutMs' failed on the 'gte' tag"],
    [{ command: 'x', gid: 0 }, 'invalid request, validation error uid is required when gid is provided'],
  ])('refuses %j', async (body, message) => {
    const { status, json } = await execd.call('POST', '/command', body);
    expect([status, json]).toEqual([
      400,
      { code: 'INVALID_REQUEST_BODY', message: expect.stringContaining(message) },
    ]);
  });

  test('kills a command at its time limit, with its children', async () => {
    const events = await execd.run({ command: 'sleep 98765 & sleep 98765', timeout: 200 });
    expect(events.at(-1)?.error).toMatchObject({ evalue: '-1', traceback: ['signal: killed'] });
    expect(await execd.output('ps ax | grep "[s]leep 98765" || true')).toBe('');
  });

  test('interrupts a command: by SIGTERM, and by SIGKILL one that does not listen', async () => {
    for (const [command, evalue] of [
      ['trap "echo bye; exit 4" TERM; echo ready; while :; do sleep 0.05; done', '4'],
      ['trap "" TERM; echo ready; while :; do sleep 0.05; done', '-1'],
    ] as const) {
      const { id, ended } = await begin(command);
      expect(await execd.call('DELETE', `/command?id=${id}`)).toMatchObject({ status: 200, text: '' });
      expect((await ended).at(-1)?.error?.evalue).toBe(evalue);
      const again = await execd.call('DELETE', `/command?id=${id}`);
      expect([again.status, again.json]).toEqual([
        500,
        {
          code: 'RUNTIME_ERROR',
          message: `error interruptting code context. command session ${id} is not running`,
        },
      ]);
    }
    const unknown = await execd.call('DELETE', '/command?id=nobody');
    expect([unknown.status, unknown.json.message]).toEqual([
      500,
      'error interruptting code context. no such session',
    ]);
    expect((await execd.call('DELETE', '/command')).json).toEqual({
      code: 'MISSING_QUERY',
      message: "missing query parameter 'id'",
    });
  });

  test('does not wait for what a command has left behind, which goes on', async () => {
    const before = Date.now();
    const command = '(sleep 0.6; echo later; echo done > /workspace/left) & echo now';
    expect(await execd.output(command)).toBe('now\n');
    expect(Date.now() - before).toBeLessThan(600);
    await until(async () => (await execd.output('cat /workspace/left 2>&1')) === 'done\n', 'the left child');
  });

  test('runs a command in the background, whose output is read by a cursor', async () => {
    const command =
      'echo one; echo two >&2; while [ ! -e /workspace/go ]; do sleep 0.02; done; echo three; exit 5';
    const events = await execd.run({ command, background: true });
    expect(events.map(({ type }) => type)).toEqual(['init', 'execution_complete']);
    const id = events[0]?.text;
    const logs = (cursor: string) => execd.call('GET', `/command/${id}/logs${cursor}`);
    await until(async () => (await logs('')).text === 'one\ntwo\n', 'the first output');
    const first = await logs('?cursor=4');
    expect(first.text).toBe('two\n');
    expect(first.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(first.headers.get('execd-commands-tail-cursor')).toBe('8');
    expect((await execd.call('GET', `/command/status/${id}`)).json).toEqual({
      id,
      content: command,
      running: true,
      started_at: expect.any(String),
    });
    await execd.output('touch /workspace/go');
    const status = () => execd.call('GET', `/command/status/${id}`);
    await until(async () => (await status()).json.running === false, 'its end');
    expect((await status()).json).toMatchObject({ exit_code: 5, error: 'exit status 5' });
    expect(await logs('?cursor=8')).toMatchObject({ status: 200, text: 'three\n' });
    expect(await logs('?cursor=14')).toMatchObject({ status: 200, text: '' });
  });

  test('knows no command that was never started', async () => {
    const status = await execd.call('GET', '/command/status/nobody');
    expect([status.status, status.json]).toEqual([
      404,
      { code: 'INVALID_REQUEST_BODY', message: 'command not found: nobody' },
    ]);
    const logs = await execd.call('GET', '/command/nobody/logs');
    expect([logs.status, logs.json.message]).toEqual([400, 'command not found: nobody']);
  });

  test('lets a slow reader slow a command down, in constant memory', async () => {
    const response = await fetch(`${execd.url}/command`, {
      method: 'POST',
      headers: { 'open-sandbox-api-key': API_KEY },
      body: JSON.stringify({ command: 'yes 0123456789 | head -c 100000000' }),
    });
    const reader = response.body?.getReader();
    await reader?.read();
    const before = process.memoryUsage().rss;
    await sleep(500);
    expect(process.memoryUsage().rss - before).toBeLessThan(50 * 2 ** 20);
    await reader?.cancel();
  });

  describe('a session', () => {
    test('keeps variables and folder, and tells its own ID', async () => {
      const created = await execd.call('POST', '/session', { cwd: '/workspace/made/for/it' });
      expect(created.json).toEqual({ session_id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
      const path = `/session/${created.json.session_id}`;
      const first = await execd.run(
        { command: `export WORDS="it's\n\\"two\\" lines"; pwd; cd ..; echo wrong >&2` },
        `${path}/run`,
      );
      expect(first[0]).toMatchObject({ type: 'init', text: created.json.session_id });
      expect(first.slice(1, -1).map(({ type, text }) => [type, text])).toEqual([
        ['stdout', expect.stringMatching(/\/made\/for\/it$/)],
        ['stdout', 'wrong'],
      ]);
      const second = await execd.run({ command: 'echo "$WORDS"; pwd; false' }, `${path}/run`);
      expect(second.slice(1, -1).map(({ text }) => text)).toEqual([
        "it's",
        '"two" lines',
        expect.stringMatching(/\/made\/for$/),
      ]);
      expect(second.at(-1)?.error).toMatchObject({ evalue: '1' });
      expect(await execd.call('DELETE', path)).toMatchObject({ status: 200, text: '' });
      const again = await execd.call('DELETE', path);
      expect([again.status, again.json]).toEqual([
        404,
        { code: 'CONTEXT_NOT_FOUND', message: `session ${created.json.session_id} not found` },
      ]);
    });

    test('ends a run at its time limit, with a word that is no event', async () => {
      const { session_id: id } = (await execd.call('POST', '/session')).json;
      const events = await execd.run({ command: 'sleep 98764', timeout: 100 }, `/session/${id}/run`);
      expect(events.at(-1)).toEqual({
        code: 'RUNTIME_ERROR',
        message: 'error running in session. timeout after 100ms',
      });
      expect(await execd.output('ps ax | grep "[s]leep 98764" || true')).toBe('');
    });

    test('must exist, as must the folder of a run', async () => {
      const { status, json } = await execd.call('POST', '/session/nobody/run', { command: 'true' });
      expect([status, json]).toEqual([
        500,
        { code: 'RUNTIME_ERROR', message: 'error running in session. context not found' },
      ]);
      const { session_id: id } = (await execd.call('POST', '/session')).json;
      const refused = await execd.call('POST', `/session/${id}/run`, { command: 'true', cwd: '/nope' });
      expect([refused.status, refused.json.message]).toEqual([
        400,
        'invalid request. working directory does not exist: /nope: stat /nope: no such file or directory',
      ]);
    });
  });

  test('runs code as a command, and has no Jupyter for any language', async () => {
    expect((await execd.run({ code: 'echo hi' }, '/code'))[1]).toMatchObject({ type: 'stdout', text: 'hi' });
    const python = await execd.call('POST', '/code', { code: '1', context: { language: 'python' } });
    expect([python.status, python.json]).toEqual([
      500,
      {
        code: 'RUNTIME_ERROR',
        message:
          'error running codes language runtime server not configured, please check your image runtime',
      },
    ]);
    expect((await execd.call('GET', '/code/contexts')).json).toEqual([]);
    expect(await execd.call('GET', '/code/contexts/x')).toMatchObject({ status: 404 });
  });

  test('measures, once and again and again', async () => {
    const metrics = {
      cpu_count: expect.any(Number),
      cpu_used_pct: expect.any(Number),
      mem_total_mib: expect.any(Number),
      mem_used_mib: expect.any(Number),
      timestamp: expect.any(Number),
    };
    expect((await execd.call('GET', '/metrics')).json).toEqual(metrics);
    const response = await fetch(`${execd.url}/metrics/watch`, {
      headers: { 'open-sandbox-api-key': API_KEY },
    });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const reader = response.body?.getReader();
    const text = new TextDecoder().decode((await reader?.read())?.value);
    expect(text).toMatch(/^\{.*\}\n$/);
    expect(JSON.parse(text)).toEqual(metrics);
    await reader?.cancel();
  });

  test('has no other paths', async () => {
    expect(await execd.call('GET', '/nope')).toMatchObject({ status: 404, text: '404 page not found' });
    expect(await execd.call('PUT', '/command')).toMatchObject({ status: 404 });
  });

  /** Resolves when the command has written something. */
  async function begin(command: string) {
    const response = await fetch(`${execd.url}/command`, {
      method: 'POST',
      headers: { 'open-sandbox-api-key': API_KEY },
      body: JSON.stringify({ command }),
    });
    const reader = response.body?.getReader();
    let text = '';
    const read = async () => {
      const { value, done } = (await reader?.read()) ?? { value: undefined, done: true };
      text += new TextDecoder().decode(value);
      return !done;
    };
    while (!text.includes('"stdout"')) await read();
    const rest = async () => {
      while (await read());
      return eventsOf(text);
    };
    return { id: eventsOf(text.slice(0, text.indexOf('\n\n')))[0]?.text, ended: rest() };
  }
});
