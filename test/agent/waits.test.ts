import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  endProcess,
  hasStatus,
  KITS,
  post,
  readSaved,
  readState,
  startAgent,
  useWorkspace,
  waitForState,
  workspace,
} from './kit-process.js';

useWorkspace();

describe.each(KITS)('the $name kit', ({ scenarios }) => {
  const start = (scenario: string, env: Record<string, string> = {}) =>
    startAgent(scenarios, { SCENARIO: scenario, ...env });
  const asks = (id: string) => (state: { question?: { id: string } }) => state.question?.id === id;

  test('a question is published with its schema, one at a time, and its answer acknowledged', async () => {
    const { url } = await start('ask');
    const waiting = await waitForState(url, hasStatus('waiting'));
    expect(waiting.question).toEqual({
      id: 'colour',
      text: 'Which colour?',
      schema: { type: 'string', enum: ['red', 'green'] },
    });
    const input = { id: 'input-1', question: 'colour', value: 'red' };
    const { status } = await post(url, '/input', input, { 'longhaul-input-id': 'input-1' });
    expect(status).toBe(200);
    expect((await readSaved()).inputs).toEqual([input]);
    const next = await waitForState(url, asks('size'));
    expect(next).toMatchObject({ status: 'waiting', inputId: 'input-1' });
    await post(url, '/input', { id: 'input-2', question: null, value: { cm: [3, 4] } });
    const { result, inputId } = await waitForState(url, hasStatus('done'));
    expect(result).toEqual({ colour: 'red', size: { cm: [3, 4] }, incarnation: 1 });
    expect(inputId).toBe('input-2');
  });

  test('an input is taken once, however often it is sent, also over a restart', async () => {
    const first = await start('ask');
    await waitForState(first.url, asks('colour'));
    const input = { id: 'input-1', question: null, value: 'red' };
    const answers = await Promise.all([1, 2, 3].map(() => post(first.url, '/input', input)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    await waitForState(first.url, asks('size'));
    await endProcess(first.child, 'SIGKILL');

    const second = await start('ask');
    expect((await post(second.url, '/input', { ...input, value: 'green' })).status).toBe(200);
    const state = await waitForState(second.url, asks('size'));
    expect(state).toMatchObject({ status: 'waiting', inputId: 'input-1', incarnation: 2 });
    expect((await readSaved()).inputs).toEqual([{ ...input, question: 'colour' }]);
    await post(second.url, '/input', { id: 'input-2', question: 'size', value: 5 });
    const { result } = await waitForState(second.url, hasStatus('done'));
    expect(result).toEqual({ colour: 'red', size: 5, incarnation: 2 });
  });

  test('an answer that was acknowledged outlives the process, killed in the same instant', async () => {
    const first = await start('ask');
    await waitForState(first.url, asks('colour'));
    await post(first.url, '/input', { id: 'input-1', question: 'colour', value: 'green' });
    await endProcess(first.child, 'SIGKILL');
    const second = await start('ask');
    const state = await waitForState(second.url, asks('size'));
    expect(state).toMatchObject({ inputId: 'input-1' });
    expect((await readSaved()).inputs).toMatchObject([{ value: 'green' }]);
  });

  test('a wait is shown again from the first instant of a restart on', async () => {
    const first = await start('ask');
    const { question } = await waitForState(first.url, hasStatus('waiting'));
    await endProcess(first.child, 'SIGKILL');
    const second = await start('ask');
    expect(await readState(second.url)).toMatchObject({ status: 'waiting', question, incarnation: 2 });
  });

  test('an input that comes before its question is asked is kept for it', async () => {
    const { url } = await start('ask');
    await waitForState(url, asks('colour'));
    await post(url, '/input', { id: 'early', question: 'size', value: 'XL' });
    expect(await readState(url)).toMatchObject({ status: 'waiting', inputId: 'early' });
    await post(url, '/input', { id: 'input-1', question: 'colour', value: 'red' });
    const { result } = await waitForState(url, hasStatus('done'));
    expect(result).toMatchObject({ colour: 'red', size: 'XL' });
  });

  test('an input may come as a file, is looked at again until it is whole, and is taken once', async () => {
    const file = join(workspace, '.longhaul/input.json');
    const first = await start('ask');
    await waitForState(first.url, asks('colour'));
    await writeFile(file, '{ "id": "input-1", "val');
    await writeFile(`${file}.new`, JSON.stringify({ id: 'input-1', question: 'colour', value: 'green' }));
    await rename(`${file}.new`, file);
    const state = await waitForState(first.url, asks('size'));
    expect(state.inputId).toBe('input-1');
    await endProcess(first.child, 'SIGKILL');

    const second = await start('ask');
    await waitForState(second.url, asks('size'));
    expect((await readSaved()).inputs).toHaveLength(1);
    await endProcess(second.child, 'SIGKILL');
    // It comes while no process is there.
    await writeFile(file, JSON.stringify({ id: 'input-2', question: null, value: 7 }));
    const third = await start('ask');
    const { result } = await waitForState(third.url, hasStatus('done'));
    expect(result).toEqual({ colour: 'green', size: 7, incarnation: 3 });
  });

  test('an input without a body or an ID is refused; one without a length, or with its ID in the header, is not', async () => {
    const { url } = await start('ask');
    await waitForState(url, asks('colour'));
    expect((await fetch(`${url}/input`, { method: 'POST', body: '{' })).status).toBe(400);
    expect((await post(url, '/input', { value: 1 })).status).toBe(400);
    expect((await post(url, '/input', { id: '', value: 1 })).status).toBe(400);
    expect((await post(url, '/input', { id: 'large', value: 'x'.repeat(1024 * 1024) })).status).toBe(413);
    expect(await readState(url)).toMatchObject({ status: 'waiting' });
    const chunked = new Blob([JSON.stringify({ value: 'red' })]).stream();
    const request = {
      method: 'POST',
      body: chunked,
      duplex: 'half',
      headers: { 'longhaul-input-id': 'input-1' },
    };
    expect((await fetch(`${url}/input`, request as RequestInit)).status).toBe(200);
    expect((await waitForState(url, asks('size'))).inputId).toBe('input-1');
  });

  test('a sleep is published, ends at its time, and goes on over a restart', async () => {
    const first = await start('sleep', { SLEEP_MS: '2500' });
    const { wakeAt = '' } = await waitForState(first.url, hasStatus('sleeping'));
    expect(Date.parse(wakeAt)).toBeGreaterThan(Date.now());
    expect((await post(first.url, '/drain')).status).toBe(200);
    await endProcess(first.child, 'SIGTERM');
    const second = await start('sleep', { SLEEP_MS: '3600000' });
    expect(await readState(second.url)).toMatchObject({ status: 'sleeping', wakeAt });
    const { result, ...state } = await waitForState(second.url, hasStatus('done'));
    expect(state).not.toHaveProperty('wakeAt');
    expect((result as { lateMs: number }).lateMs).toBeGreaterThanOrEqual(0);
  });

  test('a start after the time to wake goes on at once', async () => {
    const first = await start('sleep', { SLEEP_MS: '1500' });
    const { wakeAt = '' } = await waitForState(first.url, hasStatus('sleeping'));
    await endProcess(first.child, 'SIGKILL');
    await expect.poll(() => Date.now() > Date.parse(wakeAt), { timeout: 20_000 }).toBe(true);
    const second = await start('sleep', { SLEEP_MS: '3600000' });
    await waitForState(second.url, hasStatus('done'));
  });
});
