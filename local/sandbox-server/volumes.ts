/**
 * Named volumes: workspaces that outlive their sandboxes, and may be shared by several. As with a real
 * server they belong to nobody, and stay until somebody removes them.
 */

import { chownSync, existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { FIRST_UID } from './backends/detect.js';
import { ApiError } from './errors.js';

const WORKSPACE = '/workspace';
const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

function matching(pattern: RegExp) {
  return z.string().regex(pattern, `String should match pattern '${pattern.source}'`);
}

export const volumesSchema = z.array(
  z
    .object({
      name: matching(NAME).max(63),
      mountPath: matching(/^\/.*/),
      subPath: z.string().nullish(),
      readOnly: z.boolean().nullish(),
      host: z.object({ path: z.string() }).nullish(),
      pvc: z
        .object({
          claimName: matching(NAME).max(253),
          createIfNotExists: z.boolean().default(true),
          deleteOnSandboxTermination: z.boolean().default(false),
          storage: matching(/^\d+(\.\d+)?([KMGTPE]i?|[kmgtpe])?$/).nullish(),
        })
        .nullish(),
    })
    .refine(({ host, pvc }) => (host == null) !== (pvc == null), {
      error: 'Value error, Exactly one of host or pvc must be provided.',
    }),
);

/** What is mounted at /workspace instead of a folder of the sandbox's own. */
export interface Volume {
  readonly claimName: string;
  readonly createIfNotExists: boolean;
  readonly deletedWithSandbox: boolean;
}

/**
 * `null`: none is asked for.
 * @throws ApiError 400 for folders of the host, and for other places than /workspace.
 */
export function workspaceVolume(volumes: z.infer<typeof volumesSchema>): Volume | null {
  const names = volumes.map(({ name }) => name);
  const double = names.find((name, index) => names.indexOf(name) !== index);
  if (double !== undefined)
    throw new ApiError(400, 'VOLUME::DUPLICATE_NAME', `Duplicate volume name '${double}'.`);
  for (const { host, mountPath, subPath, readOnly } of volumes) {
    if (host != null) {
      const message = `Host path '${host.path}' is not under any allowed prefix. Allowed prefixes: []`;
      throw new ApiError(400, 'VOLUME::HOST_PATH_NOT_ALLOWED', message);
    }
    if (subPath != null && (subPath.startsWith('/') || subPath.split('/').includes('..'))) {
      const message = `subPath '${subPath}' must be relative and must not contain '..'.`;
      throw new ApiError(400, 'VOLUME::INVALID_SUB_PATH', message);
    }
    if (subPath != null || readOnly === true) {
      const message = `${subPath == null ? 'readOnly' : 'subPath'} is not supported by local sandboxes.`;
      throw new ApiError(400, 'VOLUME::NOT_SUPPORTED', message);
    }
    if (mountPath !== WORKSPACE) {
      const message = `Volumes can be mounted at ${WORKSPACE} only here, not at '${mountPath}'.`;
      throw new ApiError(400, 'VOLUME::MOUNT_PATH_NOT_SUPPORTED', message);
    }
  }
  if (volumes.length > 1) {
    const message = `Only one volume can be mounted at ${WORKSPACE}.`;
    throw new ApiError(400, 'VOLUME::MOUNT_PATH_NOT_SUPPORTED', message);
  }
  const [pvc] = volumes.flatMap((volume) => volume.pvc ?? []);
  if (pvc === undefined) return null;
  const { claimName, createIfNotExists, deleteOnSandboxTermination } = pvc;
  return { claimName, createIfNotExists, deletedWithSandbox: deleteOnSandboxTermination };
}

export function volumeFolder(dataDir: string, { claimName }: Volume): string {
  return join(dataDir, 'volumes', claimName);
}

export function makeVolume(folder: string, uid: number): void {
  mkdirSync(folder, { recursive: true });
  chownSync(folder, uid, uid);
}

/** The sandboxes' user that its files belong to; `null`: there is no such volume yet, or people have made it. */
export function ownerOfVolume(folder: string): number | null {
  const uid = statSync(folder, { throwIfNoEntry: false })?.uid ?? 0;
  return uid > FIRST_UID ? uid : null;
}

/** @throws ApiError 400 when the volume should be there and is not. */
export function refuseMissingVolume(dataDir: string, volume: Volume | null): void {
  if (volume === null || volume.createIfNotExists || existsSync(volumeFolder(dataDir, volume))) return;
  const message = `Volume '${volume.claimName}' does not exist, and createIfNotExists is false.`;
  throw new ApiError(400, 'VOLUME::PVC_NOT_FOUND', message);
}

export function removeVolume(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}
