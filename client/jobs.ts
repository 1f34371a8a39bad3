/** All jobs: submitting, finding and listing them. */

import { WorkflowExecutionAlreadyStartedError, type WorkflowExecutionInfo } from '@temporalio/client';
import type { AgentJobInput } from '../contract/job-input.js';
import type { JobSpec } from '../contract/job-spec.js';
import type { JobSpecSource } from '../contract/job-spec.schema.js';
import { AGENT_JOB_WORKFLOW, PHASE_ATTRIBUTE } from '../contract/messages.js';
import { GRPC, grpcStatusOf, isUnreachable, LonghaulError } from './errors.js';
import { describeJob, type JobDescription, phaseAttribute } from './job-description.js';
import { JobHandle } from './job-handle.js';
import { newJobId, specDigest } from './job-identity.js';
import { StatusReader } from './job-reading.js';
import { phaseOf } from './job-status.js';
import { type JobSummary, summarize, summarizeUnasked } from './job-summary.js';
import { checkSpec, readSpecFile } from './spec-file.js';
import type { Temporal } from './temporal.js';

export interface SubmitOptions {
  /**
   * What to do about a job that has the ID already. `attach` returns its handle, provided that it was
   * submitted with the same spec. @default 'refuse'
   */
  readonly ifExists?: 'refuse' | 'attach';
  /** Instead of the spec's own ID. */
  readonly id?: string;
}

export interface ListOptions {
  /** @default 50 */
  readonly limit?: number;
  /** Leave out jobs that have ended. @default false */
  readonly openOnly?: boolean;
}

/** Jobs that are asked for their status at once. */
const LIST_CONCURRENCY = 10;

export class Jobs {
  readonly #temporal: Temporal;

  constructor(temporal: Temporal) {
    this.#temporal = temporal;
  }

  /**
   * Starts a job. The ID of a running or completed job cannot be used again; that of a failed or cancelled one can.
   * @param spec as an object, or the path of a YAML or JSON file. Files that it names by `from` are read
   *   relative to the current folder, or to that of the spec file.
   * @throws LonghaulError SPEC_INVALID, JOB_EXISTS, TEMPORAL_UNREACHABLE.
   */
  async submit(spec: JobSpecSource | string, options: SubmitOptions = {}): Promise<JobHandle> {
    const given = await (typeof spec === 'string' ? readSpecFile(spec) : checkSpec(spec, process.cwd()));
    const id = options.id ?? given.id ?? newJobId(given.sandbox.image);
    // Checked like an ID in the spec, which it stands for.
    const checked = options.id === undefined ? given : await withId(given, options.id);
    const digest = specDigest(checked);
    try {
      await this.#start(id, checked, digest);
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      await this.#attachOrRefuse(id, digest, options.ifExists ?? 'refuse', error);
    }
    return new JobHandle(this.#temporal, id);
  }

  /** A handle; whether there is such a job shows when it is used. */
  get(id: string): JobHandle {
    return new JobHandle(this.#temporal, id);
  }

  /**
   * The newest jobs, latest start first; where there are more than `limit`, open ones come before ended ones.
   * Works without workers, but then tells less of open jobs.
   */
  async list({ limit = 50, openOnly = false }: ListOptions = {}): Promise<JobSummary[]> {
    const ids = await this.#temporal.call({ jobId: null }, () => this.#newestIds(limit, openOnly));
    // Without a worker each question takes its whole deadline, so the first one in vain is the last.
    let isWorkerSilent = false;
    const summaries = await mapConcurrently(ids, LIST_CONCURRENCY, async (id) => {
      const description = await describeJob(this.#temporal, id);
      const isOpen = description.closedAt === null;
      if (isOpen ? isWorkerSilent : !leavesStatus(description)) return summarizeUnasked(description);
      try {
        return summarize(await new StatusReader(this.#temporal).read(description));
      } catch (error) {
        if (!isUnreachable(error) || error.code !== 'WORKER_UNREACHABLE') throw error;
        isWorkerSilent = true;
        return summarizeUnasked(description);
      }
    });
    return summaries.sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1));
  }

  async #start(id: string, spec: JobSpec, digest: string): Promise<void> {
    const { image } = spec.sandbox;
    const input: AgentJobInput = { spec };
    await this.#temporal.call(
      { jobId: id },
      () =>
        this.#temporal.client.workflow.start(AGENT_JOB_WORKFLOW, {
          workflowId: id,
          taskQueue: this.#temporal.config.taskQueue,
          args: [input],
          workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
          workflowIdConflictPolicy: 'FAIL',
          typedSearchAttributes: [{ key: phaseAttribute, value: 'scheduled' }],
          memo: { specDigest: digest, image },
          staticSummary: `agent in ${image}`.slice(0, 200),
        }),
      (error) => {
        if (error instanceof WorkflowExecutionAlreadyStartedError) return error;
        return isAttributeUnknown(error) ? attributeMissing(this.#temporal.config.namespace, error) : null;
      },
    );
  }

  async #attachOrRefuse(
    id: string,
    digest: string,
    ifExists: 'refuse' | 'attach',
    cause: unknown,
  ): Promise<void> {
    const existing = await describeJob(this.#temporal, id).catch((error) => {
      if (error instanceof LonghaulError && error.code === 'JOB_NOT_FOUND') return null;
      throw error;
    });
    if (existing === null) {
      throw new LonghaulError('JOB_EXISTS', `The ID "${id}" belongs to a workflow that is no job.`, {
        cause,
      });
    }
    const isSame = existing.specDigest === digest;
    if (ifExists === 'attach' && isSame) return;
    const state =
      existing.closedAt === null ? 'is there already' : `has ended already (${phaseOf(existing)})`;
    if (ifExists === 'attach') {
      throw new LonghaulError('JOB_EXISTS', `A job "${id}" ${state}, with a different spec.`, {
        remedy: 'submit under another ID, or cancel that job first',
        cause,
      });
    }
    throw new LonghaulError('JOB_EXISTS', `A job "${id}" ${state}.`, {
      remedy: isSame ? 'submit under another ID, or attach to it' : 'submit under another ID',
      cause,
    });
  }

  async #newestIds(limit: number, openOnly: boolean): Promise<string[]> {
    const state = openOnly ? "ExecutionStatus = 'Running'" : "ExecutionStatus != 'ContinuedAsNew'";
    const executions: AsyncIterable<WorkflowExecutionInfo> = this.#temporal.client.workflow.list({
      query: `WorkflowType = '${AGENT_JOB_WORKFLOW}' AND ${state}`,
      pageSize: Math.min(limit, 1000),
    });
    // The same ID may have been used again after a failure.
    const ids = new Set<string>();
    if (limit <= 0) return [];
    for await (const { workflowId } of executions) {
      ids.add(workflowId);
      if (ids.size >= limit) break;
    }
    return [...ids];
  }
}

/** What a cancelled or terminated job did last is worth no question to a worker in a list. */
function leavesStatus({ execution }: JobDescription): boolean {
  return execution === 'COMPLETED' || execution === 'FAILED';
}

async function withId(spec: JobSpec, id: string): Promise<JobSpec> {
  const minimal = { id, sandbox: { image: spec.sandbox.image, entrypoint: [...spec.sandbox.entrypoint] } };
  await checkSpec(minimal, '.');
  return { ...spec, id };
}

function isAttributeUnknown(error: unknown): boolean {
  const status = grpcStatusOf(error);
  return status?.code === GRPC.INVALID_ARGUMENT && status.details.includes(PHASE_ATTRIBUTE);
}

function attributeMissing(namespace: string, cause: unknown): LonghaulError {
  return new LonghaulError(
    'TEMPORAL_UNREACHABLE',
    `The namespace "${namespace}" does not have the search attribute ${PHASE_ATTRIBUTE}.`,
    {
      remedy: `temporal operator search-attribute create --namespace ${namespace} --name ${PHASE_ATTRIBUTE} --type Keyword`,
      cause,
    },
  );
}

async function mapConcurrently<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const entries = items.entries();
  // All lanes draw from the same iterator.
  const lane = async () => {
    for (const [index, item] of entries) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, lane));
  return results;
}
