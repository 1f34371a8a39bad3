/** What S3 said, in words that help. The SDK's error is not kept as the cause: it repeats parts of the request. */

import { StoreError } from './errors.js';

const CHECK_KEYS = 'check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY';
const CHECK_NETWORK = 'check the network, and AWS_ENDPOINT_URL_S3 if it is set';
const GRANT =
  'its policy must allow s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload and s3:ListBucket';

const REMEDIES: Readonly<Record<string, string>> = {
  AccessDenied: GRANT,
  Forbidden: GRANT,
  CredentialsProviderError: 'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE',
  ECONNREFUSED: CHECK_NETWORK,
  ENOTFOUND: CHECK_NETWORK,
  TimeoutError: CHECK_NETWORK,
  ExpiredToken: 'get new credentials',
  InvalidAccessKeyId: CHECK_KEYS,
  SignatureDoesNotMatch: CHECK_KEYS,
  NoSuchBucket: 'create the bucket, or correct the location of the store',
  PermanentRedirect: 'set AWS_REGION to the region of the bucket',
  AuthorizationHeaderMalformed: 'set AWS_REGION to the region of the bucket',
};

interface SdkError extends Error {
  readonly code?: string;
  readonly $metadata?: { readonly httpStatusCode?: number; readonly requestId?: string };
}

/** @param what completes "could not …", e.g. `write a/b`. */
export function told(error: unknown, description: string, what: string): StoreError {
  if (error instanceof StoreError) return error;
  const { name, message, code, $metadata } = error as SdkError;
  const facts = [
    code ?? name,
    $metadata?.httpStatusCode && `status ${$metadata.httpStatusCode}`,
    $metadata?.requestId && `request ${$metadata.requestId}`,
  ].filter(Boolean);
  const remedy = message.startsWith('Region ') ? 'set AWS_REGION' : REMEDIES[code ?? name];
  const said = message === name || message === '' ? '' : ` ${message.replace(/\.?$/, '.')}`;
  return new StoreError(
    `The store ${description} could not ${what}:${said} (${facts.join(', ')})${remedy === undefined ? '' : `; ${remedy}`}.`,
  );
}

/** A bucket that is missing is not an object that is missing. */
export function isAbsent(error: unknown): boolean {
  return ['NoSuchKey', 'NotFound'].includes((error as Error).name);
}
