/** Passes pause, resume and cancel on to the jobs of a batch, at a bounded rate. */

import { WorkflowNotFoundError } from '@temporalio/client';
import type { BatchActivities, Steering, SteerJobsInput } from '../../contract/batch.js';
import { parsePositions } from '../../contract/batch-positions.js';
import {
  PAUSE_SIGNAL,
  type PauseRequest,
  RESUME_SIGNAL,
  type ResumeRequest,
} from '../../contract/messages.js';
import { heartbeatSleep } from '../heartbeats.js';
import type { BatchContext } from './dependencies.js';

export function steerJobsWith(context: BatchContext): BatchActivities['steerJobs'] {
  return async ({ round, positions, steering, spacingMs }: SteerJobsInput) => {
    for (const position of parsePositions(positions)) {
      await steer(context, await context.pages.jobId(round, position), steering);
      await heartbeatSleep(spacingMs);
    }
  };
}

async function steer({ client }: BatchContext, jobId: string, steering: Steering): Promise<void> {
  const job = client.workflow.getHandle(jobId);
  try {
    switch (steering.to) {
      case 'pause': {
        const { by, reason } = steering;
        await job.signal<[PauseRequest]>(PAUSE_SIGNAL, { by, reason, hold: 'fleet' });
        break;
      }
      case 'resume':
        await job.signal<[ResumeRequest]>(RESUME_SIGNAL, { by: steering.by, hold: 'fleet' });
        break;
      case 'cancel':
        await job.cancel();
        break;
    }
  } catch (error) {
    // It is over.
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}
