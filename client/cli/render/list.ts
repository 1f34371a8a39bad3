/** Many jobs, one a line. Pure. */

import type { JobSummary } from '../../job-summary.js';
import type { Paint } from '../context.js';
import { paintPhase } from './phase.js';
import { ago, bar, oneLine, percent, table, timeSince, truncate } from './text.js';

const BAR_WIDTH = 10;
const DETAIL_COLUMNS = 60;

export function renderList(jobs: readonly JobSummary[], nowMs: number, paint: Paint): string {
  const header = ['ID', 'PHASE', 'FOR', 'PROGRESS', 'STARTED', ''].map((title) => paint.dim(title));
  const rows = jobs.map((job) => [
    job.id,
    paintPhase(job.phase, paint),
    job.since === null ? '' : timeSince(job.since, nowMs),
    renderProgress(job.checkpoint),
    ago(job.startedAt, nowMs),
    renderDetail(job, paint),
  ]);
  return table([header, ...rows]);
}

function renderProgress(checkpoint: JobSummary['checkpoint']): string {
  if (checkpoint === null) return '';
  const { step, progress } = checkpoint;
  if (progress !== null) return `${bar(progress, BAR_WIDTH)} ${percent(progress)}`;
  return step === null ? '' : `step ${step}`;
}

/** The one thing that matters most: why it failed, what it waits for, or what it does. */
function renderDetail({ failure, waitingFor, checkpoint }: JobSummary, paint: Paint): string {
  const short = (text: string) => truncate(oneLine(text), DETAIL_COLUMNS);
  if (failure !== null) return paint.red(short(`${failure.code}: ${failure.message}`));
  if (waitingFor !== null) return paint.yellow(short(`waits for ${waitingFor}`));
  return short(checkpoint?.message ?? '');
}
