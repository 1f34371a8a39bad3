/** Everything that can hold a job, with real processes, real windows of a minute and a worker killed at their edges. */

import { createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readDocument } from '../../client/spec-file.js';
import type { JobSpecSource } from '../../contract/job-spec.schema.js';
import { runCli } from '../client/cli.js';
import { countingJob, processesOf, until, useStack } from './stack.js';

const world = useStack();
const EXAMPLE = new URL('../../examples/asks-a-person/job.yaml', import.meta.url).pathname;

const received: { event: string; id: string; signature: string | undefined; expected: string }[] = [];
let receiver: Server;
let hookUrl: string;

beforeAll(async () => {
  receiver = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const [id, timestamp, signature] = ['id', 'timestamp', 'signature'].map(
      (name) => request.headers[`webhook-${name}`] as string,
    );
    const mac = createHmac('sha256', 'a-secret-for-hooks').update(`${id}.${timestamp}.${body}`);
    received.push({
      event: JSON.parse(body).event,
      id: id ?? '',
      signature,
      expected: `v1,${mac.digest('base64')}`,
    });
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  hookUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
});
afterAll(() => receiver?.close());

it('an agent that asks is drained and paused, gets its answer once, and every step of it is told and recorded', async () => {
  const source = (await readDocument(EXAMPLE)) as JobSpecSource;
  const folder = new URL('../../examples/asks-a-person/', import.meta.url).pathname;
  const files = (source.sandbox.files ?? []).map((file) => ({ ...file, from: `${folder}${file.from}` }));
  const job = await world.longhaul.jobs.submit({
    ...source,
    sandbox: { ...source.sandbox, files, env: { ROOT: '/usr/share' } },
    inputGrace: '1s',
    notify: [{ url: hookUrl, secretEnv: 'env:HOOK_SECRET' }],
  });
  const paused = await until(job, ({ phase }) => phase === 'paused');
  expect(paused.holds).toMatchObject([{ kind: 'input', by: 'agent' }]);
  expect(paused.question?.text).toContain('Which kind of file');
  expect(paused.receipts.at(-1)).toMatchObject({
    kind: 'pause',
    cause: ['input'],
    drain: { kind: 'drained' },
  });
  expect(paused.receipts.at(-1)?.evidence.length).toBeGreaterThan(0);
  expect(processesOf(job.id)).toEqual([]);

  await expect(job.provideInput({ kind: 'no such kind' })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  const schema = paused.question?.schema as { properties: { kind: { enum: string[] } } } | undefined;
  const first = schema?.properties.kind.enum[0];
  await job.provideInput({ kind: first, count: 2 });
  const result = (await job.result()) as { kind: string; largest: unknown[]; starts: number };
  expect(result).toMatchObject({ kind: first, starts: 2 });

  const { events, incomplete } = await job.timeline();
  expect(incomplete).toBeNull();
  expect(events.map(({ event }) => event)).toEqual(
    expect.arrayContaining([
      'question',
      'draining',
      'paused',
      'input-accepted',
      'input-delivered',
      'completed',
    ]),
  );
  const { LONGHAUL_HOME } = { LONGHAUL_HOME: world.stateDir };
  const shown = await runCli(['timeline', job.id], { LONGHAUL_HOME });
  expect(shown.stdout).toMatch(/█ running .* ░ paused/s);
  const receipts = await runCli(['receipts', job.id], { LONGHAUL_HOME });
  expect(receipts.stdout).toContain('drain     drained');

  for (const giveUpAt = Date.now() + 20_000; received.at(-1)?.event !== 'completed'; ) {
    if (Date.now() > giveUpAt) throw new Error(`The end was not told: ${JSON.stringify(received)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(received.every(({ signature, expected }) => signature === expected)).toBe(true);
  const ids = received.map(({ id }) => id);
  expect(new Set(ids).size).toBe(events.length);
});

it('a window of a minute is one pause and one resume, although the worker is killed at each of its edges', async () => {
  const startMs = Math.ceil((Date.now() + 10_000) / 60_000) * 60_000;
  const minute = (ms: number) => new Date(ms).toISOString().slice(0, 16);
  const window = { from: minute(startMs), to: minute(startMs + 60_000), timezone: 'UTC', reason: 'test' };
  const job = await world.longhaul.jobs.submit({
    ...countingJob(3000, 100),
    pauseWindows: [window],
    windowSpread: '0s',
  });
  const running = await until(job, ({ phase }) => phase === 'running');
  expect(running.nextEdge).toEqual({ at: new Date(startMs).toISOString(), does: 'pause' });

  await killWorkerAt(startMs - 300);
  const paused = await until(job, ({ phase }) => phase === 'paused', 120_000);
  expect(paused.holds).toMatchObject([{ kind: 'window', reason: 'test' }]);
  expect(processesOf(job.id)).toEqual([]);

  await killWorkerAt(startMs + 60_000 - 300);
  const { receipts } = await until(job, ({ phase }) => phase === 'running', 120_000);
  expect(receipts.map(({ kind }) => kind)).toEqual(['pause', 'resume']);
  const [pause, resume] = receipts;
  expect(Date.parse(pause?.requestedAt ?? '')).toBeGreaterThanOrEqual(startMs);
  expect(Date.parse(resume?.requestedAt ?? '')).toBeGreaterThanOrEqual(startMs + 60_000);
  await job.cancel();
  await expect(job.result()).rejects.toMatchObject({ code: 'JOB_CANCELLED' });
}, 240_000);

async function killWorkerAt(instantMs: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, instantMs - Date.now())));
  const { pid } = world.stack.worker;
  if (pid !== null) process.kill(pid, 'SIGKILL');
}

/** Has no endpoint for answers: it looks for the file. */
const LOOKING_AGENT = `
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
const file = '/workspace/.longhaul/input.json';
const state = () => {
  const input = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { question: null };
  if (input.question === null) return { status: 'waiting', question: { id: 'q1', text: 'Which?' } };
  if (input.question === 'q1')
    return { status: 'waiting', inputId: input.id, question: { id: 'q2', text: input.value + ', and?' } };
  return { status: 'done', inputId: input.id, result: { value: input.value } };
};
createServer((request, response) => response.end(JSON.stringify(state()))).listen(8000);
`;

it('an agent without an endpoint finds its answers, one after the other, as a file in its workspace', async () => {
  const job = await world.longhaul.jobs.submit({
    sandbox: {
      image: 'node:20-slim',
      entrypoint: ['node', '/workspace/agent.mjs'],
      files: [{ path: '/workspace/agent.mjs', content: LOOKING_AGENT }],
    },
    checkpoint: { every: '200ms' },
    inputGrace: '0s',
  });
  await until(job, ({ phase }) => phase === 'paused');
  await job.provideInput('this');
  await until(job, ({ question }) => question?.text === 'this, and?');
  await job.provideInput(['ü', 2]);
  expect(await job.result()).toEqual({ value: ['ü', 2] });
});
