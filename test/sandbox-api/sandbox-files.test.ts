import { afterEach, expect, it } from 'vitest';
import { connectSandboxApi, sandboxFiles } from '../../activities/sandbox-api/index.js';
import { json, scriptedApi } from '../support/scripted-api.js';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

async function filesAt(uploadStatus: number, moveStatus = 200) {
  const seen: { key: string; type: string; body: string }[] = [];
  const api = await scriptedApi((key) => (request, response, body) => {
    seen.push({ key, type: String(request.headers['content-type']), body });
    return json(key.endsWith('/upload') ? uploadStatus : moveStatus, {})(request, response, body);
  });
  const client = connectSandboxApi({ apiUrl: api.url, apiKey: 'key', persistence: 'none' });
  open.push(api, client);
  return { files: sandboxFiles(client), seen };
}

const PATH = '/workspace/.longhaul/input.json';

it('a file is uploaded beside its place and then moved there, so that nobody reads half of it', async () => {
  const { files, seen } = await filesAt(200);
  expect(await files.put('sb-1', PATH, '{"value":"ü"}')).toEqual({ kind: 'put' });
  const [upload, move] = seen;
  expect(upload?.key).toBe('POST /sandboxes/sb-1/proxy/44772/files/upload');
  expect(upload?.type).toMatch(/^multipart\/form-data; boundary=/);
  expect(upload?.body).toMatch(
    /name="metadata"; filename="[^"]+"[\s\S]*"path":"\/workspace\/\.longhaul\/input\.json\.part"/,
  );
  expect(upload?.body).toMatch(/name="file"; filename="[^"]+"[\s\S]*\{"value":"ü"\}/);
  expect(move).toMatchObject({ key: 'POST /sandboxes/sb-1/proxy/44772/files/mv' });
  expect(JSON.parse(move?.body ?? '')).toEqual([{ src: `${PATH}.part`, dest: PATH }]);
});

it.each([
  [400, 200, 'refused'],
  [200, 404, 'refused'],
  [500, 200, 'no-answer'],
  [200, 500, 'no-answer'],
] as const)('answers %i and %i count as %s', async (upload, move, kind) => {
  const { files } = await filesAt(upload, move);
  expect(await files.put('sb-1', PATH, '{}')).toMatchObject({ kind });
});
