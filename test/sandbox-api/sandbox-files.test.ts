import { afterEach, expect, it } from 'vitest';
import { connectSandboxApi, sandboxFiles } from '../../activities/sandbox-api/index.js';
import { json, scriptedApi } from '../support/scripted-api.js';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

async function filesAt(status: number) {
  const seen: { key: string; type: string; body: string }[] = [];
  const api = await scriptedApi((key) => (request, response, body) => {
    seen.push({ key, type: String(request.headers['content-type']), body });
    return json(status, {})(request, response, body);
  });
  const client = connectSandboxApi({ apiUrl: api.url, apiKey: 'key', persistence: 'none' });
  open.push(api, client);
  return { files: sandboxFiles(client), seen };
}

const PATH = '/workspace/.longhaul/input.json';

it('a file is uploaded in the form that execd wants: its place and its content as two files', async () => {
  const { files, seen } = await filesAt(200);
  expect(await files.put('sb-1', PATH, '{"value":"ü"}')).toEqual({ kind: 'put' });
  expect(seen).toMatchObject([{ key: 'POST /sandboxes/sb-1/proxy/44772/files/upload' }]);
  expect(seen[0]?.type).toMatch(/^multipart\/form-data; boundary=/);
  expect(seen[0]?.body).toMatch(
    /name="metadata"; filename="[^"]+"[\s\S]*"\/workspace\/\.longhaul\/input\.json"/,
  );
  expect(seen[0]?.body).toMatch(/name="file"; filename="[^"]+"[\s\S]*\{"value":"ü"\}/);
});

it.each([
  [400, 'refused'],
  [404, 'refused'],
  [500, 'no-answer'],
] as const)('the answer %i counts as %s', async (status, kind) => {
  const { files } = await filesAt(status);
  expect(await files.put('sb-1', PATH, '{}')).toMatchObject({ kind });
});
