import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { readSandboxLogs } from '../../client/sandbox-logs.js';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** An API that gives this one answer, and keeps what it was asked. */
async function api(status: number, body: string) {
  const asked: { url: string; key: unknown }[] = [];
  server = createServer((request, response) => {
    asked.push({ url: request.url ?? '', key: request.headers['open-sandbox-api-key'] });
    response.writeHead(status).end(body);
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    asked,
    env: { OPEN_SANDBOX_API_URL: `http://127.0.0.1:${port}/v1/`, OPEN_SANDBOX_API_KEY: 'key' },
  };
}

describe("the sandbox's log", () => {
  it('is asked for below the base URL as it was given, with the key', async () => {
    const { env, asked } = await api(200, 'a\nb\n');
    expect(await readSandboxLogs(env, 'sb/1', 5)).toBe('a\nb');
    expect(asked).toEqual([
      { url: '/v1/sandboxes/sb%2F1/diagnostics/logs?scope=container&tail=5', key: 'key' },
    ]);
  });

  it('may come as JSON, and is cut to its last lines where the server did not', async () => {
    const { env } = await api(200, JSON.stringify({ content: 'a\nb\nc\n', truncated: false }));
    expect(await readSandboxLogs(env, 'sb', 2)).toBe('b\nc');
  });

  it('may look like JSON and be none', async () => {
    const { env } = await api(200, '{"level":"info"}');
    expect(await readSandboxLogs(env, 'sb', 2)).toBe('{"level":"info"}');
  });

  it('is none when the sandbox is gone', async () => {
    const { env } = await api(404, '{"code":"SANDBOX_NOT_FOUND"}');
    expect(await readSandboxLogs(env, 'sb', 2)).toBeNull();
  });

  it.each([
    [401, 'API_KEY_REJECTED'],
    [501, 'SANDBOX_API_UNREACHABLE'],
  ])('is refused with HTTP %i as %s', async (status, code) => {
    const { env } = await api(status, '');
    await expect(readSandboxLogs(env, 'sb', 2)).rejects.toMatchObject({ code });
  });

  it('cannot be read from nowhere, and the error names the address but not the key', async () => {
    const { env } = await api(200, '');
    server?.close();
    const error = await readSandboxLogs(env, 'sb', 2).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: 'SANDBOX_API_UNREACHABLE',
      message: expect.stringMatching(/127\.0\.0\.1:\d+ .*ECONNREFUSED/),
    });
    expect(String(error)).not.toContain('key');
    await expect(readSandboxLogs({}, 'sb', 2)).rejects.toMatchObject({
      remedy: expect.stringContaining('OPEN_SANDBOX_API_URL'),
    });
  });
});
