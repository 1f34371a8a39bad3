/** The body of `POST /sandboxes`. */

import type { CreateRequest, SandboxApiOptions } from './types.js';

export function createBody(request: CreateRequest, persistence: SandboxApiOptions['persistence']): unknown {
  const { image, entrypoint, env, resources, metadata } = request;
  const body = { image: { uri: image }, entrypoint, env, resourceLimits: resources, metadata };
  if (request.persistence === null || persistence === 'none') return body;
  const { storageClass, size } = request.persistence;
  if (persistence === 'extensions') {
    return { ...body, extensions: { persistence: 'true', storageClass, storageSize: size } };
  }
  const pvc = {
    claimName: request.volumeName,
    storageClass,
    storage: size,
    createIfNotExists: true,
    deleteOnSandboxTermination: true,
  };
  return { ...body, volumes: [{ name: 'workspace', mountPath: '/workspace', pvc }] };
}
