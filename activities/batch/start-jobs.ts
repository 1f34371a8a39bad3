/** Starts a batch's jobs as workflows of their own. Run again, it finds those that it has started already. */

import { activityInfo } from '@temporalio/activity';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { BatchActivities, EndsReport, StartJobsInput } from '../../contract/batch.js';
import type { BatchItem } from '../../contract/batch-files.js';
import { parsePositions } from '../../contract/batch-positions.js';
import { expandTemplate } from '../../contract/batch-template.js';
import type { ErrorCode } from '../../contract/errors.js';
import type { AgentJobInput } from '../../contract/job-input.js';
import type { JobSpec } from '../../contract/job-spec.js';
import { checkJobSpec, toJobSpec } from '../../contract/job-spec.schema.js';
import { AGENT_JOB_WORKFLOW, PHASE_ATTRIBUTE } from '../../contract/messages.js';
import { heartbeatSleep, heartbeatWhile } from '../heartbeats.js';
import { concurrently } from './concurrently.js';
import type { BatchContext, BatchMemo } from './dependencies.js';
import { folderOf } from './pages.js';
import { type Ended, reportEnds, withoutJob } from './report.js';

/** More at once make a Temporal server on two cores no faster. */
const STARTS_AT_ONCE = 16;

const phaseAttribute = defineSearchAttributeKey(PHASE_ATTRIBUTE, SearchAttributeType.KEYWORD);

/** Why an item cannot be started, ever. It fails alone. */
interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
}

export function startJobsWith(context: BatchContext): BatchActivities['startJobs'] {
  return (input) => heartbeatWhile(startAll(context, input));
}

async function startAll(context: BatchContext, input: StartJobsInput): Promise<EndsReport> {
  const { round, spacingMs } = input;
  const refused: Ended[] = [];
  const atOnce = spacingMs > 0 ? 1 : STARTS_AT_ONCE;
  const positions = parsePositions(input.positions);
  await concurrently(positions, atOnce, async (position) => {
    if (spacingMs > 0 && position !== positions[0]) await heartbeatSleep(spacingMs);
    const item = await context.pages.item(round, position);
    const refusal = await startOne(context, input, position, item);
    if (refusal === null) return;
    const { code, message } = refusal;
    refused.push({ position, outcome: withoutJob(item, round.number, { outcome: 'failed', code, message }) });
  });
  return reportEnds(context.store, round, input.file, refused);
}

async function startOne(
  context: BatchContext,
  { round, priority }: StartJobsInput,
  position: number,
  item: BatchItem,
): Promise<Refusal | null> {
  const made = specFor(await context.pages.template(round), item.item);
  if (!made.ok) return { code: 'SPEC_INVALID', message: made.message };
  const { spec } = made;
  const workflowId = await context.pages.jobId(round, position);
  const batch: BatchMemo = { folder: folderOf(round), position };
  const input: AgentJobInput = { spec };
  try {
    await context.client.workflow.start(AGENT_JOB_WORKFLOW, {
      workflowId,
      taskQueue: activityInfo().taskQueue,
      args: [input],
      // Whoever used the ID before: a second job under it would be taken for the first.
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      workflowIdConflictPolicy: 'FAIL',
      typedSearchAttributes: [{ key: phaseAttribute, value: 'scheduled' }],
      memo: { image: spec.sandbox.image, batch },
      staticSummary: `item ${item.id} of batch ${round.batchId}`.slice(0, 200),
      // The first task comes with the answer to the start: a third less work for Temporal.
      requestEagerStart: true,
      priority: { priorityKey: priority, fairnessKey: round.batchId.slice(0, 64) },
    });
    return null;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) {
      return (await isOurs(context, workflowId, batch))
        ? null
        : { code: 'JOB_EXISTS', message: `The ID "${workflowId}" is that of another job.` };
    }
    if (isRefusal(error)) return { code: 'SPEC_INVALID', message: `Temporal refused it: ${reasonOf(error)}` };
    throw error;
  }
}

/** An attempt that was cut off, or a start whose answer was lost, has started it before. */
async function isOurs({ client }: BatchContext, workflowId: string, batch: BatchMemo): Promise<boolean> {
  const { memo } = await client.workflow.getHandle(workflowId).describe();
  const known = memo?.batch as BatchMemo | undefined;
  return known?.folder === batch.folder && known.position === batch.position;
}

type Made = { readonly ok: true; readonly spec: JobSpec } | { readonly ok: false; readonly message: string };

/** Checked when it was submitted; here by the rules of this worker's version. */
function specFor(template: unknown, item: unknown): Made {
  const expanded = expandTemplate(template, item);
  const checked = expanded.ok ? checkJobSpec(expanded.value) : expanded;
  if (!checked.ok) {
    const problems = checked.problems.map(({ path, message }) => `${path}: ${message}`);
    return { ok: false, message: `The job spec was refused: ${problems.join('; ')}` };
  }
  const contents = checked.value.sandbox.files.map(({ content }) => content ?? '');
  return { ok: true, spec: toJobSpec(checked.value, contents) };
}

const INVALID_ARGUMENT = 3;

function isRefusal(error: unknown): boolean {
  return (error as { cause?: { code?: unknown } }).cause?.code === INVALID_ARGUMENT;
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as { cause?: { details?: unknown }; message: string };
  return typeof cause?.details === 'string' ? cause.details : message;
}
