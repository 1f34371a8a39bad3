/** Many jobs at once against an API that allows few requests a second: nobody is refused for good, nothing is doubled. */

import { randomUUID } from 'node:crypto';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { AgentJobInput } from '../../contract/job-input.js';
import {
  AGENT_JOB_WORKFLOW,
  PAUSE_SIGNAL,
  SEARCH_ATTRIBUTES,
  STATUS_QUERY,
} from '../../contract/messages.js';
import type { JobStatus } from '../../contract/status.js';
import { activitiesAt } from '../activities/harness.js';
import { answerWith, type FakeSandboxes, type Fault, fakeSandboxes } from '../support/fake-sandboxes.js';
import { json } from '../support/scripted-api.js';
import { spec } from '../support/spec.js';

const JOBS = 100;
const PER_SECOND = 20;

let env: TestWorkflowEnvironment;
let fake: FakeSandboxes;
let refused = 0;

/** So many a second are let through; the others are told to come back. */
function limited(): Fault {
  let secondOf = 0;
  let count = 0;
  return (context) => {
    const second = Math.floor(Date.now() / 1000);
    if (second !== secondOf) count = 0;
    secondOf = second;
    count += 1;
    if (count <= PER_SECOND) return false;
    refused += 1;
    return answerWith(json(429, { code: 'RATE_LIMITED', message: 'slow down' }, { 'retry-after': '1' }))(
      context,
    );
  };
}

beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  env = await TestWorkflowEnvironment.createLocal({
    server: {
      executable: { type: 'existing-path', path: inject('temporalCli') },
      log: { format: 'pretty', level: 'error' },
    },
  });
  await env.connection.operatorService.addSearchAttributes({
    namespace: 'default',
    searchAttributes: Object.fromEntries(Object.keys(SEARCH_ATTRIBUTES).map((name) => [name, 2])),
  });
  fake = await fakeSandboxes({ 'before pause': limited() });
});
afterAll(async () => {
  await env?.teardown();
  await fake?.close();
});

it(`${JOBS} jobs that are paused at once all end paused, and none fails because of the API's limit`, async () => {
  const taskQueue = `test-${randomUUID()}`;
  const { activities, close } = activitiesAt(fake.api.url);
  const worker = await Worker.create({
    connection: env.nativeConnection,
    taskQueue,
    workflowBundle: { codePath: inject('workflowBundle') },
    activities,
    maxConcurrentActivityTaskExecutions: 2 * JOBS,
    maxHeartbeatThrottleInterval: 200,
  });
  await worker.runUntil(async () => {
    const handles = await Promise.all(
      Array.from({ length: JOBS }, (_, index) =>
        env.client.workflow.start(AGENT_JOB_WORKFLOW, {
          taskQueue,
          workflowId: `crowd-${index}`,
          args: [{ spec } satisfies AgentJobInput],
        }),
      ),
    );
    const phases = async () => {
      const statuses = await Promise.all(handles.map((each) => each.query<JobStatus>(STATUS_QUERY)));
      return statuses.map(({ phase, sandbox }) => ({ phase, id: sandbox?.id ?? '' }));
    };
    const all = async (phase: string) => {
      for (const giveUpAt = Date.now() + 90_000; ; await new Promise((resolve) => setTimeout(resolve, 500))) {
        const now = await phases();
        // No job shows itself as paused before the API does.
        for (const each of now) {
          if (each.phase === 'paused') expect(fake.sandboxes.get(each.id)?.state).toBe('Paused');
        }
        if (now.every((each) => each.phase === phase)) return;
        if (Date.now() > giveUpAt) throw new Error(`Not all ${phase}: ${JSON.stringify(now)}`);
      }
    };
    await all('running');
    await Promise.all(handles.map((each) => each.signal(PAUSE_SIGNAL, { by: 'all', reason: 'at once' })));
    await all('paused');
    expect(refused).toBeGreaterThan(0);
    expect(fake.counts).toEqual({ created: JOBS, deleted: 0 });
    await Promise.all(handles.map((each) => each.cancel()));
    await Promise.allSettled(handles.map((each) => each.result()));
    expect(fake.counts).toEqual({ created: JOBS, deleted: JOBS });
  });
  await close();
}, 240_000);
