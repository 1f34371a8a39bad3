/** The examples where they belong: in sandboxes that are paused and resumed while they run. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { entrypointOf } from '../../activities/entrypoint.js';
import type { AgentState } from '../agent/kit-process.js';
import { startTestServer, type TestServer, until } from '../sandbox-server/support.js';
import { readExample } from './example-process.js';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(async () => {
  await server.end();
});

/** Starts an example, and does with it what an orchestrator does. */
async function startExample(name: string, env: Readonly<Record<string, string>>) {
  const { sandbox, drain, input } = await readExample(name);
  const id = await server.create({
    image: { uri: sandbox.image },
    entrypoint: entrypointOf(sandbox),
    env: { ...sandbox.env, ...env, LONGHAUL_JOB_ID: name, LONGHAUL_INCARNATION: '1' },
    resourceLimits: { cpu: sandbox.resources.cpu, memory: sandbox.resources.memory },
  });
  const proxy = `/sandboxes/${id}/proxy/8000/`;
  const untilState = async (isWanted: (state: AgentState) => boolean): Promise<AgentState> => {
    let state: AgentState | undefined;
    const isSo = async () => {
      const { status, json } = await server.call('GET', `${proxy}state.json`);
      if (status === 200) state = json;
      if (state?.status === 'failed') throw new Error(`${name} failed: ${state.error?.message}`);
      return state !== undefined && isWanted(state);
    };
    await until(isSo, `the checkpoint of ${name}`);
    return state as AgentState;
  };
  return {
    untilState,
    /** Pauses and resumes it. @returns the first checkpoint after that. */
    async pauseAndResume(): Promise<AgentState> {
      const headers = { 'longhaul-incarnation': '1' };
      if (drain) expect((await server.call('POST', proxy + drain.path, {}, headers)).status).toBe(200);
      await server.call('POST', `/sandboxes/${id}/pause`);
      await server.untilState(id, 'Paused');
      await server.call('POST', `/sandboxes/${id}/resume`);
      await server.untilState(id, 'Running');
      return untilState(() => true);
    },
    async give(value: unknown) {
      const document = { id: 'input-1', question: null, value };
      expect((await server.call('POST', proxy + input?.path, document)).status).toBe(200);
    },
  };
}

test('python-agent goes on at the step that it was paused at', async () => {
  const agent = await startExample('python-agent', { PACE: '0.1' });
  const { step = 0 } = await agent.untilState(({ step = 0 }) => step >= 40);
  const resumed = await agent.pauseAndResume();
  expect(resumed).toMatchObject({ status: 'running', incarnation: 2 });
  expect(resumed.step).toBeGreaterThanOrEqual(step);
  await agent.untilState(({ step = 0 }) => step > (resumed.step ?? 0));
});

test('wrapped-pipeline runs again and ends with its result', async () => {
  const agent = await startExample('wrapped-pipeline', { ROOTS: '/usr/sbin', PART_FILES: '5', PACE: '0.2' });
  await agent.untilState(({ progress = 0 }) => progress > 0);
  expect(await agent.pauseAndResume()).toMatchObject({ status: 'running', incarnation: 2 });
  const { result } = await agent.untilState(({ status }) => status === 'done');
  expect((result as { files: number }).files).toBeGreaterThan(20);
});

test('asks-a-person is answered after its pause', async () => {
  const agent = await startExample('asks-a-person', { ROOT: '/workspace' });
  const { question } = await agent.untilState(({ status }) => status === 'waiting');
  expect(await agent.pauseAndResume()).toMatchObject({ status: 'waiting', question, incarnation: 2 });
  await agent.give({ kind: '.mjs', count: 2 });
  const { result, inputId } = await agent.untilState(({ status }) => status === 'done');
  expect(inputId).toBe('input-1');
  expect(result).toMatchObject({ kind: '.mjs', largest: [{}, {}], starts: 2 });
});

test('sleeps-until wakes up in another process than it fell asleep in', async () => {
  const agent = await startExample('sleeps-until', { SLEEP_MINUTES: '0.06' });
  const { wakeAt } = await agent.untilState(({ status }) => status === 'sleeping');
  expect(await agent.pauseAndResume()).toMatchObject({ incarnation: 2 });
  const { result } = await agent.untilState(({ status }) => status === 'done');
  expect(result).toMatchObject({ starts: 2 });
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(wakeAt as string));
});
