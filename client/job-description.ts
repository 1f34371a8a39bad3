/** What Temporal itself knows of a job, without any worker: as plain data, decoded. */

import {
  type Client,
  defaultPayloadConverter,
  type WorkflowExecutionDescription,
  type WorkflowExecutionStatusName,
} from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { Activities, PauseProgress, WatchCursor } from '../contract/activities.js';
import { AGENT_JOB_WORKFLOW, PHASE_ATTRIBUTE } from '../contract/messages.js';
import { jobNotFound } from './errors.js';
import type { CallOptions, Temporal } from './temporal.js';

export const phaseAttribute = defineSearchAttributeKey(PHASE_ATTRIBUTE, SearchAttributeType.KEYWORD);

/** An activity that was begun and has not ended. */
export interface PendingActivity {
  readonly type: keyof Activities;
  /** It was cancelled and has not noticed yet; what it says is of the past. */
  readonly leftBehind: boolean;
  /** Counts from 1. */
  readonly attempt: number;
  readonly scheduledAt: string | null;
  /** Why the attempt before failed. */
  readonly lastFailure: string | null;
  /** What a watch saw last. */
  readonly cursor: WatchCursor | null;
  /** How far a pause is. */
  readonly pauseStage: PauseProgress['stage'] | null;
}

export interface JobDescription {
  readonly id: string;
  readonly runId: string;
  /** The same over continue-as-new. */
  readonly runChainId: string;
  readonly execution: WorkflowExecutionStatusName;
  readonly taskQueue: string;
  readonly historyLength: number;
  /** Of the current run; a job that continued as new began earlier. */
  readonly startedAt: string;
  readonly closedAt: string | null;
  /** What the search attribute shows. */
  readonly restingPhase: string | null;
  /** As it was when the job was submitted. */
  readonly specDigest: string | null;
  readonly pending: readonly PendingActivity[];
}

/** @throws LonghaulError JOB_NOT_FOUND, also for a workflow that is no job; TEMPORAL_UNREACHABLE. */
export async function describeJob(
  temporal: Temporal,
  id: string,
  signal?: AbortSignal,
): Promise<JobDescription> {
  const options: CallOptions = { jobId: id, signal };
  const description = await temporal.call(options, () => temporal.client.workflow.getHandle(id).describe());
  if (description.type !== AGENT_JOB_WORKFLOW) throw jobNotFound(id);
  return {
    id,
    runId: description.runId,
    runChainId: description.raw.workflowExecutionInfo?.firstRunId || description.runId,
    execution: description.status.name,
    taskQueue: description.taskQueue,
    historyLength: description.historyLength,
    startedAt: description.startTime.toISOString(),
    closedAt: description.closeTime?.toISOString() ?? null,
    restingPhase: description.typedSearchAttributes.get(phaseAttribute) ?? null,
    specDigest: typeof description.memo?.specDigest === 'string' ? description.memo.specDigest : null,
    pending: await readPending(temporal.client, description),
  };
}

/** The same numbers as `temporal.api.enums.v1.PendingActivityState`. */
const CANCEL_REQUESTED = 3;

async function readPending(
  client: Client,
  { raw }: WorkflowExecutionDescription,
): Promise<PendingActivity[]> {
  return Promise.all(
    (raw.pendingActivities ?? []).map(async (activity) => ({
      type: activity.activityType?.name as keyof Activities,
      leftBehind: activity.state === CANCEL_REQUESTED,
      attempt: activity.attempt ?? 1,
      scheduledAt: toIso(activity.scheduledTime),
      lastFailure: activity.lastFailure?.message ?? null,
      cursor:
        activity.activityType?.name === 'watchSandbox'
          ? await decodeFirst<WatchCursor>(client, activity.heartbeatDetails?.payloads)
          : null,
      pauseStage:
        activity.activityType?.name === 'pauseSandbox'
          ? ((await decodeFirst<PauseProgress>(client, activity.heartbeatDetails?.payloads))?.stage ?? null)
          : null,
    })),
  );
}

type Payloads = Parameters<Client['options']['loadedDataConverter']['payloadCodecs'][number]['decode']>[0];

/** `null` where there is nothing, or nothing that can be read. */
async function decodeFirst<T>(client: Client, payloads: Payloads | null | undefined): Promise<T | null> {
  if (payloads === null || payloads === undefined || payloads.length === 0) return null;
  const { payloadCodecs, payloadConverter } = client.options.loadedDataConverter;
  let decoded = payloads;
  for (const codec of [...payloadCodecs].reverse()) decoded = await codec.decode(decoded);
  const [first] = decoded;
  return first === undefined ? null : (payloadConverter ?? defaultPayloadConverter).fromPayload<T>(first);
}

function toIso(time: { seconds?: unknown; nanos?: number | null } | null | undefined): string | null {
  if (time === null || time === undefined) return null;
  return new Date(Number(time.seconds ?? 0) * 1000 + (time.nanos ?? 0) / 1e6).toISOString();
}
