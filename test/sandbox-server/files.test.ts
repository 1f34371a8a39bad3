/** Files of sandboxes, in the forms of execd; by each back end that works here. */

import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Execd, execdOf, IDLE, workingBackends } from './execd-support.js';
import { startTestServer, type TestServer } from './support.js';

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);

describe.each(await workingBackends())('files of a sandbox by %s', (backend) => {
  let server: TestServer;
  let execd: Execd;
  let owner: string;
  beforeAll(async () => {
    server = await startTestServer({ backend });
    execd = execdOf(server, await server.create(IDLE));
    owner = (await execd.output('id -un')).trim();
  });
  afterAll(async () => {
    await server.end();
  });
  beforeEach(async () => {
    await execd.output('cd /workspace && rm -rf ./* .[a-z]*');
  });
  const names = () => readdirSync(join(server.dataDir, execd.id, 'workspace'));
  const read = (path: string) => execd.call('GET', `/files/download?path=${path}`);

  test('are uploaded with missing folders, and described', async () => {
    const uploaded = await execd.upload(
      ['metadata', JSON.stringify({ path: '/workspace/a/b/c.txt', mode: 640 })],
      ['file', 'hello\r\n--x'],
    );
    expect(uploaded).toMatchObject({ status: 200, text: '' });
    expect((await read('/workspace/a/b/c.txt')).text).toBe('hello\r\n--x');
    const info = await execd.call('GET', '/files/info?path=/workspace/a&path=/workspace/a/b/c.txt');
    const common = { modified_at: TIME, created_at: TIME, owner, group: owner };
    expect(info.json).toEqual({
      '/workspace/a': {
        ...common,
        path: '/workspace/a',
        type: 'directory',
        size: expect.any(Number),
        mode: 755,
      },
      '/workspace/a/b/c.txt': { ...common, path: '/workspace/a/b/c.txt', type: 'file', size: 10, mode: 640 },
    });
    expect((await execd.call('GET', '/files/info')).json).toEqual({});
    const missing = await execd.call('GET', '/files/info?path=/workspace/nope');
    expect([missing.status, missing.json]).toEqual([
      404,
      {
        code: 'FILE_NOT_FOUND',
        message:
          'file not found. file not found: /workspace/nope: lstat /workspace/nope: no such file or directory',
      },
    ]);
  });

  test('are uploaded several at once, in any order, also empty ones and over old ones', async () => {
    await execd.put('/workspace/old', 'a long old content', { mode: 600 });
    const paths = ['/workspace/old', '/workspace/empty', '/workspace/three'];
    await execd.upload(
      ['file', 'new'],
      ['metadata', JSON.stringify({ path: paths[0] })],
      ['metadata', JSON.stringify({ path: paths[1] })],
      ['metadata', JSON.stringify({ path: paths[2] })],
      ['file', ''],
      ['file', '3'],
    );
    const found = await Promise.all(paths.map(async (path) => (await read(path)).text));
    expect(found).toEqual(['new', '', '3']);
    const info = await execd.call('GET', '/files/info?path=/workspace/old&path=/workspace/three');
    expect([info.json['/workspace/old'].mode, info.json['/workspace/three'].mode]).toEqual([600, 755]);
  });

  test.each<[string, ...Parameters<Execd['upload']>[number][]]>([
    ['INVALID_FILE_METADATA: metadata file is missing', ['field', '{"path":"/workspace/x"}'], ['file', 'x']],
    ['INVALID_FILE_METADATA: metadata file is missing', ['file', 'x']],
    ['INVALID_FILE_CONTENT: file is missing', ['metadata', '{"path":"/workspace/x"}']],
    [
      'INVALID_FILE: metadata and file count mismatch: 1 vs 2',
      ['metadata', '{}'],
      ['file', 'x'],
      ['file', 'x'],
    ],
    ['INVALID_FILE_METADATA: invalid metadata format. ', ['metadata', '{'], ['file', 'x']],
    ['INVALID_FILE_METADATA: invalid metadata format. ', ['metadata', '{"path":5}'], ['file', 'x']],
    ['INVALID_FILE_METADATA: metadata path is empty', ['metadata', '{}'], ['file', 'x']],
  ])('are refused with 400 %s', async (expected, ...parts) => {
    const { status, json } = await execd.upload(...parts);
    expect([status, `${json.code}: ${json.message}`]).toEqual([400, expect.stringContaining(expected)]);
    expect(names()).toEqual([]);
  });

  test('are refused when the form is none, or not whole', async () => {
    const none = await execd.call('POST', '/files/upload', {});
    expect([none.status, none.json]).toEqual([
      400,
      { code: 'INVALID_FILE', message: 'multipart form is empty' },
    ]);
    const type = { 'content-type': 'multipart/form-data; boundary=b' };
    const half =
      '--b\r\ncontent-disposition: form-data; name="metadata"; filename="m"\r\n\r\n{"path":"/workspace/x"}\r\n';
    const cut = await execd.call('POST', '/files/upload', half, type);
    expect([cut.status, cut.json.code]).toEqual([400, 'INVALID_FILE']);
  });

  test('are not written where they cannot be, and say why', async () => {
    await execd.output('mkdir /workspace/folder');
    const asFolder = await execd.upload(['metadata', '{"path":"/workspace/folder"}'], ['file', 'x']);
    expect([asFolder.status, asFolder.json]).toEqual([
      500,
      {
        code: 'RUNTIME_ERROR',
        message: 'error opening destination file /workspace/folder. open /workspace/folder: is a directory',
      },
    ]);
    const mode = await execd.upload(['metadata', '{"path":"/workspace/x","mode":688}'], ['file', 'x']);
    expect([mode.status, mode.json.message]).toEqual([500, expect.stringContaining('invalid syntax')]);
  });

  test('are downloaded whole or in part', async () => {
    await execd.put('/workspace/d ä.bin', '0123456789');
    const path = encodeURIComponent('/workspace/d ä.bin');
    const whole = await read(path);
    expect([whole.status, whole.text]).toEqual([200, '0123456789']);
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': '10',
      'accept-ranges': 'bytes',
      'content-disposition': `attachment; filename="d%20%C3%A4.bin"; filename*=UTF-8''d%20%C3%A4.bin`,
      'last-modified': expect.stringMatching(/ GMT$/),
    });
    for (const [range, text, contentRange] of [
      ['bytes=2-4', '234', 'bytes 2-4/10'],
      ['bytes=7-', '789', 'bytes 7-9/10'],
      ['bytes=-3', '789', 'bytes 7-9/10'],
      ['bytes=8-100', '89', 'bytes 8-9/10'],
      ['bytes=20-30, 0-1', '01', 'bytes 0-1/10'],
    ] as const) {
      const part = await execd.call('GET', `/files/download?path=${path}`, undefined, { range });
      expect([part.status, part.text, part.headers.get('content-range')]).toEqual([206, text, contentRange]);
    }
    const refused = await execd.call('GET', `/files/download?path=${path}`, undefined, {
      range: 'bytes=5-2',
    });
    expect([refused.status, refused.json]).toEqual([416, { code: 'UNKNOWN' }]);
    const beyond = await execd.call('GET', `/files/download?path=${path}`, undefined, { range: 'bytes=10-' });
    expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, 'bytes */10']);
  });

  test('are not downloaded when they are missing, unnamed or no files', async () => {
    const missing = await read('/workspace/nope');
    expect([missing.status, missing.json]).toEqual([
      404,
      {
        code: 'FILE_NOT_FOUND',
        message: 'file not found. open /workspace/nope: no such file or directory',
      },
    ]);
    expect((await execd.call('GET', '/files/download')).json).toEqual({
      code: 'MISSING_QUERY',
      message: "missing query parameter 'path'",
    });
    const folder = await read('/workspace');
    expect([folder.status, folder.json.message]).toEqual([
      500,
      'error accessing file: read /workspace: is a directory',
    ]);
    await execd.output('mkfifo /workspace/pipe');
    expect(await read('/workspace/pipe')).toMatchObject({ status: 200, text: '' });
  });

  test('are found by patterns of their names', async () => {
    for (const name of ['a.txt', 'b.txt', 'deep/c.txt', 'deep/d.md', 'deep/[x].txt']) {
      await execd.put(`/workspace/${name}`, name);
    }
    const search = async (pattern: string) => {
      const { json } = await execd.call(
        'GET',
        `/files/search?path=/workspace&pattern=${encodeURIComponent(pattern)}`,
      );
      return json.map(({ path }: { path: string }) => path.slice('/workspace/'.length));
    };
    expect(await search('*.txt')).toEqual(['a.txt', 'b.txt', 'deep/[x].txt', 'deep/c.txt']);
    expect(await search('')).toHaveLength(5);
    expect(await search('[!ab].{txt,md}')).toEqual(['deep/c.txt', 'deep/d.md']);
    expect(await search('\\[?\\].*')).toEqual(['deep/[x].txt']);
    const bad = await execd.call('GET', '/files/search?path=/workspace&pattern=[');
    expect([bad.status, bad.json]).toEqual([
      500,
      {
        code: 'RUNTIME_ERROR',
        message: 'error searching files. invalid pattern [: syntax error in pattern',
      },
    ]);
    expect(await execd.call('GET', '/files/search?path=/nope')).toMatchObject({ status: 404 });
    expect((await execd.call('GET', '/files/search')).json.code).toBe('MISSING_QUERY');
  });

  test('are listed by folder and depth', async () => {
    await execd.output('cd /workspace; mkdir -p a/b; echo 1 > a/b/c; echo 22 > d; ln -s d e');
    const list = async (query: string) => {
      const { json } = await execd.call('GET', `/directories/list?path=/workspace${query}`);
      return json.map(({ path, type }: { path: string; type: string }) => `${path} ${type}`);
    };
    const [a, d, e] = ['/workspace/a directory', '/workspace/d file', '/workspace/e symlink'];
    expect(await list('')).toEqual([a, d, e]);
    expect(await list('&depth=0')).toEqual([]);
    expect(await list('&depth=2')).toEqual([a, '/workspace/a/b directory', d, e]);
    const refusals = await Promise.all(
      ['/d', '/e', '&depth=x', '/nope'].map((rest) =>
        execd.call('GET', `/directories/list?path=/workspace${rest}`),
      ),
    );
    expect(refusals.map(({ status, json }) => [status, json.message])).toEqual([
      [400, 'path is not a directory: /workspace/d'],
      [400, 'path is a symbolic link, refusing to traverse: /workspace/e'],
      [400, "invalid query parameter 'depth': x"],
      [404, 'file not found. lstat /workspace/nope: no such file or directory'],
    ]);
  });

  test('are moved, with missing folders, but not over others', async () => {
    await execd.put('/workspace/from', '1');
    const move = (src: string, dest: string) => execd.call('POST', '/files/mv', [{ src, dest }]);
    expect(await move('/workspace/from', '/workspace/new/to')).toMatchObject({ status: 200, text: '' });
    expect((await read('/workspace/new/to')).text).toBe('1');
    const missing = await move('/workspace/from', '/workspace/x');
    expect([missing.status, missing.json]).toEqual([
      404,
      {
        code: 'FILE_NOT_FOUND',
        message:
          'file not found. source path not found: /workspace/from: stat /workspace/from: no such file or directory',
      },
    ]);
    await execd.put('/workspace/other', '2');
    const over = await move('/workspace/other', '/workspace/new/to');
    expect([over.status, over.json.message]).toEqual([
      500,
      'error accessing file: destination path already exists: /workspace/new/to',
    ]);
    expect(await execd.call('POST', '/files/mv', {})).toMatchObject({ status: 400 });
  });

  test('have their permissions and their text changed', async () => {
    await execd.put('/workspace/p', 'one two one');
    const changed = await execd.call('POST', '/files/permissions', {
      '/workspace/p': { mode: 600, owner, group: '' },
    });
    expect(changed).toMatchObject({ status: 200, text: '' });
    const replace = (path: string, old: string, query = '') =>
      execd.call('POST', `/files/replace${query}`, { [path]: { old, new: '1' } });
    expect(await replace('/workspace/p', 'two')).toMatchObject({ status: 200, text: '' });
    expect((await replace('/workspace/p', 'one', '?verbose=true')).json).toEqual({
      '/workspace/p': { replacedCount: 2 },
    });
    expect(await execd.output('stat -c %a /workspace/p; cat /workspace/p')).toBe('600\n1 1 1\n');
    expect((await replace('/workspace/p', '')).json.message).toBe('old content must not be empty');
    expect(await replace('/workspace/nope', 'x')).toMatchObject({ status: 404 });
    const missing = await execd.call('POST', '/files/permissions', { '/workspace/nope': { mode: 600 } });
    expect([missing.status, missing.json.message]).toEqual([
      500,
      'error changing permissions for /workspace/nope. chmod /workspace/nope: no such file or directory',
    ]);
  });

  test('and folders are made and removed', async () => {
    const made = await execd.call('POST', '/directories', {
      '/workspace/m/n': { mode: 700 },
      '/workspace/o': {},
    });
    expect(made).toMatchObject({ status: 200, text: '' });
    expect(await execd.output('cd /workspace; stat -c %a m m/n o')).toBe('755\n700\n755\n');
    await execd.put('/workspace/m/n/file', 'x');
    const asFile = await execd.call('DELETE', '/files?path=/workspace/m');
    expect([asFile.status, asFile.json.message]).toEqual([
      500,
      'error removing file /workspace/m. path is a directory: /workspace/m',
    ]);
    const gone = [
      '/files?path=/workspace/m/n/file&path=/workspace/nope',
      '/directories?path=/workspace/m&path=/workspace/o',
    ];
    for (const path of gone)
      expect(await execd.call('DELETE', path)).toMatchObject({ status: 200, text: '' });
    expect(names()).toEqual([]);
  });

  test('are named by variables and from the home folder', async () => {
    await execd.put('$HOME/by-variable', '1');
    await execd.put('~/by-tilde', '2');
    await execd.put('relative', '3');
    expect(names().sort()).toEqual(['by-tilde', 'by-variable', 'relative']);
    const unknown = await read('$NO_SUCH/x');
    expect([unknown.status, unknown.json.message]).toEqual([
      500,
      'error resolving $NO_SUCH/x. path references undefined environment variables: NO_SUCH',
    ]);
  });

  // Without isolation a sandbox sees the whole machine, and so does whoever uses its files.
  test.skipIf(backend === 'plain')('lead nowhere outside, by whatever link or name', async () => {
    const secret = join(server.dataDir, 'secret');
    writeFileSync(secret, 'do not tell');
    const workspace = join(server.dataDir, execd.id, 'workspace');
    symlinkSync(secret, join(workspace, 'absolute'));
    symlinkSync('../../secret', join(workspace, 'relative'));
    symlinkSync('/etc', join(workspace, 'etc'));
    symlinkSync(server.dataDir, join(workspace, 'data'));
    symlinkSync('/proc/1/root', join(workspace, 'root'));
    for (const path of [
      '/workspace/absolute',
      '/workspace/relative',
      '/workspace/etc/shadow',
      '/workspace/data/secret',
      `/workspace/../../../..${secret}`,
      secret,
    ]) {
      expect([path, await read(path)]).toEqual([path, expect.objectContaining({ status: 404 })]);
    }
    expect((await read('/workspace/root/etc/shadow')).status).not.toBe(200);
    // What is written through them lands inside, or nowhere.
    await execd.upload(['metadata', '{"path":"/workspace/absolute"}'], ['file', 'overwritten']);
    await execd.upload(['metadata', '{"path":"/workspace/data/planted"}'], ['file', 'planted']);
    await execd.upload(['metadata', '{"path":"/workspace/relative"}'], ['file', 'overwritten']);
    await execd.call('DELETE', '/files?path=/workspace/data/secret');
    await execd.call('DELETE', '/directories?path=/workspace/data');
    await execd.call('POST', '/files/permissions', { '/workspace/absolute': { mode: 777 } });
    expect(readFileSync(secret, 'utf8')).toBe('do not tell');
    expect(readdirSync(server.dataDir)).not.toContain('planted');
    // The same files as for its commands: /etc/passwd is the sandbox's own.
    expect((await read('/workspace/etc/passwd')).text).toBe(await execd.output('cat /etc/passwd'));
  });
});
