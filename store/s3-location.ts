/** Takes `s3://bucket/prefix` apart. */

import { StoreError } from './errors.js';
import { isKey } from './keys.js';

/** By the naming rules of S3 for buckets. */
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;

export interface S3Location {
  readonly bucket: string;
  /** Ends with `/` or is empty. */
  readonly prefix: string;
}

/** @throws StoreError; it does not repeat what could be a password. */
export function parseLocation(location: string): S3Location {
  const [, bucket = '', path = ''] = /^s3:\/\/([^/]*)\/?(.*)$/s.exec(location) ?? [];
  if (bucket.includes('@'))
    throw new StoreError(
      'A store in S3 takes no credentials in its location; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
    );
  if (!BUCKET.test(bucket))
    throw new StoreError(`"${bucket}" is no name of a bucket; write "s3://bucket/prefix".`);
  const prefix = path.replace(/\/+$/, '');
  if (prefix !== '' && !isKey(prefix))
    throw new StoreError(
      `"${prefix}" cannot be a prefix in the bucket ${bucket}; it may have letters, digits and . _ = @ + - /`,
    );
  return { bucket, prefix: prefix === '' ? '' : `${prefix}/` };
}
