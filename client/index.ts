/** The typed client of Longhaul: `import { Longhaul } from 'longhaul'`. */

export type { BatchStatus, ItemOutcome } from '../contract/batch.js';
export type { BatchSource } from '../contract/batch.schema.js';
export type { CheckpointSummary } from '../contract/checkpoint.js';
export type { ErrorCode } from '../contract/errors.js';
export type { JobSettings } from '../contract/job-settings.js';
export type { JobSettingsSource } from '../contract/job-settings.schema.js';
export type { JobSpecSource } from '../contract/job-spec.schema.js';
export type { SpecProblem } from '../contract/problems.schema.js';
export type * from '../contract/status.js';
export type { JobEvent, JobEventName } from '../contract/timeline.js';
export type { BatchHandle } from './batch-handle.js';
export type { LiveBatchStatus } from './batch-reading.js';
export type { Batches, BatchSummary } from './batches.js';
export { type ConnectionConfig, type ConnectOptions, connectionConfig } from './connection.js';
export { LonghaulError } from './errors.js';
export type { JobHandle } from './job-handle.js';
export type { JobSummary } from './job-summary.js';
export type { WatchOptions } from './job-watch.js';
export type { Jobs, ListOptions, SubmitOptions } from './jobs.js';
export { Longhaul } from './longhaul.js';
