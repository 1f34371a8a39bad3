/**
 * The labels by which a sandbox is known to belong to a job. Create has no idempotency key upstream, so
 * they are the only handle on a sandbox whose create was never answered. Values must be Kubernetes labels
 * (at most 63 of `[A-Za-z0-9._-]`), which a job ID need not be: it is hashed.
 */

import { createHash } from 'node:crypto';
import type { Ownership } from '../contract/activities.js';

const JOB_LABEL = 'longhaul-job';
const RUN_LABEL = 'longhaul-run';
const EPOCH_LABEL = 'longhaul-epoch';

/** Labels of one create. The namespace is in the hash, since several may share one sandbox API. */
export function labelsOf(namespace: string, owner: Ownership, epoch: number): Record<string, string> {
  return {
    [JOB_LABEL]: jobHash(namespace, owner.jobId),
    ...ownerLabels(owner),
    [EPOCH_LABEL]: String(epoch),
  };
}

/** A job's ID as a label can hold it. */
export function jobHash(namespace: string, jobId: string): string {
  return createHash('sha256').update(`${namespace}/${jobId}`).digest('hex').slice(0, 40);
}

/** Whose a sandbox is by its labels; `null` for one that is not ours. */
export function ownerOf(
  metadata: Readonly<Record<string, string>> | null,
): { readonly jobHash: string; readonly runChainId: string } | null {
  const hash = metadata?.[JOB_LABEL];
  const runChainId = metadata?.[RUN_LABEL];
  return hash === undefined || runChainId === undefined ? null : { jobHash: hash, runChainId };
}

/** Labels that every sandbox of the job carries and no other: a run chain's ID is never used twice. */
export function ownerLabels(owner: Ownership): Record<string, string> {
  return { [RUN_LABEL]: owner.runChainId };
}

/** Name of the volume claim for one create (`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`, at most 63 characters). */
export function volumeNameOf(owner: Ownership, epoch: number): string {
  return `longhaul-${owner.runChainId.toLowerCase()}-${epoch}`;
}
