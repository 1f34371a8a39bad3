import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectionConfig } from '../../client/connection.js';
import { readDevSession } from '../../client/dev-session.js';
import type { DevSession } from '../../contract/dev-session.js';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'longhaul-connection-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const session: DevSession = {
  pid: process.pid,
  startedAt: '2026-01-01T00:00:00Z',
  temporal: { address: '127.0.0.1:1111', uiUrl: null, pid: process.pid },
  sandboxApi: { url: 'http://127.0.0.1:2222', gatewayUrl: 'http://127.0.0.1:3333', apiKey: 'local' },
  taskQueue: 'dev-queue',
  store: '/srv/store',
};

function env(more: Record<string, string> = {}): Record<string, string> {
  return { LONGHAUL_HOME: home, XDG_CONFIG_HOME: home, ...more };
}

function startDev(changes: Partial<DevSession> = {}): void {
  writeFileSync(join(home, 'dev.json'), JSON.stringify({ ...session, ...changes }));
}

function toml(text: string): string {
  const file = join(home, 'temporal.toml');
  writeFileSync(file, text);
  return file;
}

describe('the Temporal service', () => {
  it('is what the options say, before all else', () => {
    startDev();
    const found = connectionConfig(env({ TEMPORAL_ADDRESS: 'env:7233', TEMPORAL_NAMESPACE: 'n' }), {
      address: 'option:7233',
      taskQueue: 'q',
    });
    expect(found).toMatchObject({
      connection: { address: 'option:7233' },
      namespace: 'n',
      taskQueue: 'q',
      source: 'options',
    });
  });

  it('is what the environment says, before a profile of the file', () => {
    const file = toml('[profile.default]\naddress = "file:7233"\nnamespace = "of-file"\n');
    const found = connectionConfig(env({ TEMPORAL_ADDRESS: 'env:7233', TEMPORAL_CONFIG_FILE: file }));
    expect(found).toMatchObject({
      connection: { address: 'env:7233' },
      namespace: 'of-file',
      taskQueue: 'longhaul',
      source: 'environment',
    });
  });

  it('is what the profile says, before a running `longhaul dev`', () => {
    startDev();
    const file = toml('[profile.prod]\naddress = "prod:7233"\napi_key = "k"\n');
    const found = connectionConfig(env({ TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: 'prod' }));
    expect(found.connection).toEqual({ address: 'prod:7233', apiKey: 'k', tls: true });
    expect(found.env.OPEN_SANDBOX_API_URL).toBeUndefined();
  });

  it('is that of a running `longhaul dev` when nothing is set, with all that belongs to it', () => {
    startDev();
    const found = connectionConfig(
      env({ TEMPORAL_API_KEY: 'of another service', LONGHAUL_LOG_LEVEL: 'warn' }),
    );
    expect(found).toMatchObject({
      connection: { address: '127.0.0.1:1111' },
      namespace: 'default',
      taskQueue: 'dev-queue',
      source: 'dev-session',
    });
    expect(found.connection).not.toHaveProperty('apiKey');
    expect(found.env).toMatchObject({ OPEN_SANDBOX_API_KEY: 'local', LONGHAUL_LOG_LEVEL: 'warn' });
  });

  it('is unknown when `longhaul dev` was killed, and the error names all three ways', () => {
    startDev({ pid: 2 ** 22 + 1 });
    expect(() => connectionConfig(env())).toThrowError(
      expect.objectContaining({
        code: 'TEMPORAL_UNREACHABLE',
        remedy: expect.stringMatching(/longhaul dev.*TEMPORAL_ADDRESS.*TEMPORAL_PROFILE/s),
      }),
    );
  });
});

describe("Temporal's own configuration", () => {
  const address = { TEMPORAL_ADDRESS: 'a:1' };

  it.each(['TRUE', 'true', '1', 'Yes'])('TEMPORAL_TLS=%s turns TLS on', (value) => {
    expect(connectionConfig(env({ ...address, TEMPORAL_TLS: value })).connection.tls).toBeTruthy();
  });

  it('takes empty variables as absent: an empty API key does not turn TLS on', () => {
    const { connection } = connectionConfig(env({ ...address, TEMPORAL_API_KEY: '', TEMPORAL_TLS: '' }));
    expect(connection).toEqual({ address: 'a:1' });
  });

  it.each(['', '# nothing\n', 'other = 1\n'])(
    'passes over a file without profiles (%j), with a warning',
    (text) => {
      const file = toml(text);
      const found = connectionConfig(env({ ...address, TEMPORAL_CONFIG_FILE: file }));
      expect(found.connection.address).toBe('a:1');
      expect(found.warnings).toEqual([`${file} has no [profile.default] and was not used.`]);
    },
  );

  it('warns of settings that have no effect', () => {
    const found = connectionConfig(env({ ...address, TEMPORAL_TLS_DISABLE_HOST_VERIFICATION: 'true' }));
    expect(found.warnings).toEqual(['TEMPORAL_TLS_DISABLE_HOST_VERIFICATION has no effect here.']);
  });

  it.each([
    ['a file that is not there', { TEMPORAL_CONFIG_FILE: '/nowhere.toml' }, /nowhere\.toml cannot be used/],
    ['a profile that is not there', { TEMPORAL_PROFILE: 'prod' }, /prod/],
    ['a certificate that is not there', { TEMPORAL_TLS_CLIENT_CERT_PATH: '/nowhere.pem' }, /nowhere\.pem/],
  ])('names %s', (_, variables, expected) => {
    expect(() => connectionConfig(env({ ...address, ...(variables as Record<string, string>) }))).toThrow(
      expected,
    );
  });

  it('names a file that is no TOML', () => {
    const file = toml('[profile.default\naddress');
    expect(() => connectionConfig(env({ TEMPORAL_CONFIG_FILE: file }))).toThrow(
      /temporal\.toml cannot be used/,
    );
  });
});

describe('the session of `longhaul dev`', () => {
  it.each(['', '{', 'null', '[]', '{"pid": 1}', '{"pid": -1}'])(
    'is none when its file is broken: %j',
    (text) => {
      writeFileSync(join(home, 'dev.json'), text);
      expect(readDevSession(env())).toBeNull();
    },
  );

  it('never lends its API key to another sandbox API', () => {
    startDev();
    const found = connectionConfig(env({ OPEN_SANDBOX_API_URL: 'https://elsewhere' }));
    expect(found.env.OPEN_SANDBOX_API_URL).toBe('https://elsewhere');
    expect(found.env.OPEN_SANDBOX_API_KEY).toBeUndefined();
  });
});
