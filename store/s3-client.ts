/** The connection to S3, as the environment describes it. */

import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { StoreError } from './errors.js';

export type Environment = Readonly<Record<string, string | undefined>>;

const CONNECT_TIMEOUT_MS = 10_000;
/** Without a byte in either direction. */
const SILENCE_TIMEOUT_MS = 120_000;
/** The SDK's 50 are few where thousands of jobs end at once. */
const MAX_SOCKETS = 200;

/**
 * Endpoint, region and credentials come from the environment that is given; what is not in it, the SDK looks for by
 * its own rules: profiles, container and instance roles.
 * @returns the endpoint for people, `null` where it is AWS itself.
 * @throws StoreError for an endpoint that is no URL.
 */
export function connectS3(env: Environment): { readonly client: S3Client; readonly endpoint: string | null } {
  const endpoint = endpointOf(env);
  const region = env.AWS_REGION || env.AWS_DEFAULT_REGION || (endpoint === null ? undefined : 'us-east-1');
  const config: S3ClientConfig = {
    ...credentialsOf(env),
    ...(region === undefined ? {} : { region }),
    // Other servers are seldom reached by a host name for each bucket.
    ...(endpoint === null ? {} : { endpoint: endpoint.href, forcePathStyle: true }),
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SILENCE_TIMEOUT_MS,
      httpAgent: { maxSockets: MAX_SOCKETS },
      httpsAgent: { maxSockets: MAX_SOCKETS },
    },
  };
  return { client: new S3Client(config), endpoint: endpoint?.origin ?? null };
}

function endpointOf(env: Environment): URL | null {
  const name = env.AWS_ENDPOINT_URL_S3 ? 'AWS_ENDPOINT_URL_S3' : 'AWS_ENDPOINT_URL';
  const text = env[name];
  if (!text) return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (
    url === null ||
    !['http:', 'https:'].includes(url.protocol) ||
    url.username !== '' ||
    url.password !== ''
  )
    throw new StoreError(`${name} must be a URL such as "https://s3.example.org", without a password in it.`);
  return url;
}

function credentialsOf(env: Environment): Pick<S3ClientConfig, 'credentials'> {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  // A profile that was chosen by name comes before them, by the SDK's rules.
  if (!accessKeyId || !secretAccessKey || env.AWS_PROFILE) return {};
  const sessionToken = env.AWS_SESSION_TOKEN;
  return { credentials: { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) } };
}
