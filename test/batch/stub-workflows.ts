/** The real `agentBatch` beside an `agentJob` that does what its item says, so that batches can be had in seconds. */

import {
  ApplicationFailure,
  CancelledFailure,
  condition,
  defineQuery,
  isCancellation,
  proxySinks,
  type Sinks,
  setDefaultSignalHandler,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { AgentJobInput } from '../../contract/job-input.js';

export { agentBatch } from '../../workflows/agent-batch/workflow.js';

/** Tell the test without an event, so that thousands of jobs are cheap. */
export interface JobSinks extends Sinks {
  readonly jobs: { begin(id: string): void; end(id: string): void };
}

const { jobs } = proxySinks<JobSinks>();

const phaseAttribute = { name: 'LonghaulPhase', type: 'KEYWORD' } as const;

/** `DO`: `done`, `fail CODE`, `wait` (until cancelled) or `wait for N ms`. */
export async function agentJob({ spec }: AgentJobInput): Promise<unknown> {
  const { workflowId } = workflowInfo();
  const [verb, what = ''] = (spec.sandbox.env.DO ?? 'done').split(' ');
  let isHeld = false;
  const show = (value: string) => upsertSearchAttributes([{ key: phaseAttribute, value }]);
  setDefaultSignalHandler((name, request) => {
    if ((request as { hold?: string } | undefined)?.hold !== 'fleet') return;
    isHeld = name === 'pause';
    show(isHeld ? 'paused' : 'running');
  });
  const status = () => ({
    hours: { running: 1, paused: 0, provisioning: 0.5, wasted: 0 },
    sandboxes: 1,
    startedAt: '2026-01-01T00:00:00.000Z',
    endedAt: '2026-01-01T01:00:00.000Z',
  });
  setHandler(defineQuery('status'), status);
  jobs.begin(workflowId);
  try {
    if (verb === 'wait') {
      show('running');
      if (what === '') await condition(() => false);
      else await condition(() => false, Number(what));
      await condition(() => !isHeld);
    }
  } catch (error) {
    if (!isCancellation(error)) throw error;
    jobs.end(workflowId);
    throw new CancelledFailure('The job was cancelled.');
  }
  jobs.end(workflowId);
  if (verb === 'fail') {
    throw ApplicationFailure.create({
      type: what,
      message: `It failed with ${what}.`,
      nonRetryable: true,
      details: [status()],
    });
  }
  return { result: { said: spec.sandbox.env.SAY ?? null }, status: status() };
}
