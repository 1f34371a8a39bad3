/** What all parts of Longhaul agree on. Workflows import from the single files instead: this one pulls in zod. */

export * from './activities.js';
export * from './batch.js';
export * from './batch.schema.js';
export * from './checkpoint.js';
export * from './errors.js';
export * from './janitor.js';
export * from './job-input.js';
export * from './job-settings.js';
export * from './job-settings.schema.js';
export * from './job-spec.js';
export * from './job-spec.schema.js';
export * from './messages.js';
export * from './notifications.js';
export * from './problems.schema.js';
export * from './quantities.js';
export * from './status.js';
export * from './timeline.js';
export * from './windows.js';
