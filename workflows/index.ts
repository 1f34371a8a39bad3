/**
 * Entry point of the workflow bundle: every export is a workflow type.
 * Nothing here may import zod, Node's modules or npm libraries: the bundle runs in Temporal's sandbox.
 */

export { agentBatch } from './agent-batch/workflow.js';
export { deliverLastEvents } from './agent-job/notifier.js';
export { agentJob } from './agent-job/workflow.js';
export { janitor } from './janitor/workflow.js';
export { keepSandbox } from './keep-sandbox/workflow.js';
