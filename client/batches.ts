/** All batches: submitting, retrying, finding and listing them. */

import { randomUUID } from 'node:crypto';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { AGENT_BATCH_WORKFLOW, type AgentBatchInput, type BatchStatus } from '../contract/batch.js';
import { type BatchSource, policyOf } from '../contract/batch.schema.js';
import { roundFolder } from '../contract/batch-files.js';
import { storeLocation } from '../contract/dev-session.js';
import type { Store } from '../store/types.js';
import { readBatch } from './batch-file.js';
import { BatchHandle } from './batch-handle.js';
import { type BatchWorkflowMemo, batchNotFound, describeBatch } from './batch-reading.js';
import { readHead } from './batch-results.js';
import { type RetryChoice, uploadRetry } from './batch-retry.js';
import { uploadItems } from './batch-upload.js';
import { LonghaulError } from './errors.js';
import { newJobId } from './job-identity.js';
import type { Temporal } from './temporal.js';

export interface BatchSummary {
  readonly id: string;
  /** Items of the newest round. */
  readonly items: number;
  readonly round: number;
  readonly startedAt: string;
  readonly endedAt: string | null;
  /** `null` where nobody could be asked. */
  readonly status: BatchStatus | null;
}

interface Start {
  readonly id: string;
  readonly input: AgentBatchInput;
  readonly folder: string;
}

export class Batches {
  readonly #temporal: Temporal;
  readonly #openStore: () => Promise<Store>;
  #store: Promise<Store> | null = null;

  /** @param openStore for tests; the default is the store that `LONGHAUL_STORE` names. */
  constructor(temporal: Temporal, openStore: () => Promise<Store> = () => storeOf(temporal)) {
    this.#temporal = temporal;
    this.#openStore = openStore;
  }

  /**
   * Checks the batch and every item of it, puts the items into the store and starts.
   * @param source as an object, or the path of a YAML or JSON file; items are named relative to its folder.
   * @throws LonghaulError SPEC_INVALID with lines, and then nothing was started; JOB_EXISTS.
   */
  async submit(source: BatchSource | string, options: { readonly id?: string } = {}): Promise<BatchHandle> {
    const { document, upload } = await readBatch(
      typeof source === 'string' || options.id === undefined ? source : { ...source, id: options.id },
    );
    const id = options.id ?? document.id ?? newJobId('batch');
    const store = await this.#storeOnce();
    if ((await readHead(store, id)) !== null) throw exists(id);
    const folder = roundFolder(id, randomUUID());
    const total = await uploadItems(store, folder, upload);
    const round = { batchId: id, number: 1, folders: [folder], total };
    const { priority } = document;
    await this.#start({
      id,
      folder,
      input: { round, completedBefore: 0, policy: policyOf(document), priority },
    });
    return this.get(id);
  }

  /**
   * Makes new attempts at items of a batch that has ended; the old outcomes stay.
   * @returns how many items it makes attempts at; with 0 nothing was started.
   * @throws LonghaulError JOB_NOT_FOUND; JOB_EXISTS while the batch is not over.
   */
  async retry(id: string, choice: RetryChoice = 'failed'): Promise<number> {
    const { closedAt } = await describeBatch(this.#temporal, id);
    const stillRuns = () =>
      new LonghaulError('JOB_EXISTS', `The batch "${id}" is not over yet.`, {
        remedy: 'wait for its end, or cancel it; then its failed items can be tried again',
      });
    if (closedAt === null) throw stillRuns();
    const store = await this.#storeOnce();
    const head = await readHead(store, id);
    if (head === null) throw batchNotFound(id);
    const folder = roundFolder(id, randomUUID());
    const { total, completed } = await uploadRetry(store, head, choice, folder);
    if (total === 0) return 0;
    const { policy, priority } = await this.get(id).status();
    const folders = [...head.rounds.map((round) => round.folder), folder];
    await this.#start(
      {
        id,
        folder,
        input: {
          round: { batchId: id, number: folders.length, folders, total },
          completedBefore: completed,
          policy,
          priority,
        },
      },
      stillRuns,
    );
    return total;
  }

  /** A handle; whether there is such a batch shows when it is used. */
  get(id: string): BatchHandle {
    return new BatchHandle(this.#temporal, () => this.#storeOnce(), id);
  }

  /** The newest batches, latest start first. @param options.limit default 50 */
  async list({ limit = 50 }: { readonly limit?: number } = {}): Promise<BatchSummary[]> {
    const found = await this.#temporal.call({ jobId: null }, async () => {
      const batches = new Map<string, Omit<BatchSummary, 'status'>>();
      const executions = this.#temporal.client.workflow.list({
        query: `WorkflowType = '${AGENT_BATCH_WORKFLOW}' AND ExecutionStatus != 'ContinuedAsNew'`,
        pageSize: Math.min(limit, 1000),
      });
      for await (const { workflowId: id, memo, startTime, closeTime } of executions) {
        if (batches.size >= limit) break;
        // An older round of a batch that is listed already is no other batch.
        if (memo === undefined || batches.has(id)) continue;
        const { items, round } = memo.batch as BatchWorkflowMemo;
        batches.set(id, {
          id,
          items,
          round,
          startedAt: startTime.toISOString(),
          endedAt: closeTime?.toISOString() ?? null,
        });
      }
      return [...batches.values()];
    });
    return Promise.all(
      found.map(async (batch) => ({
        ...batch,
        status: await this.get(batch.id)
          .status()
          .catch(() => null),
      })),
    );
  }

  async close(): Promise<void> {
    await (await this.#store)?.close();
  }

  async #start({ id, input, folder }: Start, explain = () => exists(id)): Promise<void> {
    const { total, number } = input.round;
    const memo: { batch: BatchWorkflowMemo } = { batch: { folder, items: total, round: number } };
    await this.#temporal.call(
      { jobId: null },
      () =>
        this.#temporal.client.workflow.start(AGENT_BATCH_WORKFLOW, {
          workflowId: id,
          taskQueue: this.#temporal.config.taskQueue,
          args: [input],
          workflowIdReusePolicy: number === 1 ? 'REJECT_DUPLICATE' : 'ALLOW_DUPLICATE',
          workflowIdConflictPolicy: 'FAIL',
          memo,
          staticSummary: `${total} items`,
        }),
      (error) => (error instanceof WorkflowExecutionAlreadyStartedError ? explain() : null),
    );
  }

  #storeOnce(): Promise<Store> {
    this.#store ??= this.#openStore();
    return this.#store;
  }
}

async function storeOf({ config }: Temporal): Promise<Store> {
  const { openStore } = await import('../store/index.js');
  return openStore(storeLocation(config.env), config.env);
}

function exists(id: string): LonghaulError {
  return new LonghaulError('JOB_EXISTS', `A batch, or a job, "${id}" exists already.`, {
    remedy: 'submit under another ID, or look at it with `longhaul batch status`',
  });
}
