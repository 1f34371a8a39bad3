/** Tells the agent's own answers from what the API and the machines before it say in its place. */

import type { SandboxApiError } from './errors.js';
import type { RawAnswer } from './transport.js';
import type { ProxyAnswer } from './types.js';

/**
 * @param classified the answer as an error of the API.
 * @throws KeyRejectedError, RateLimitedError.
 */
export function readProxyAnswer(
  answer: RawAnswer,
  limitBytes: number,
  classified: () => SandboxApiError,
): ProxyAnswer {
  const { status, headers, body, exceededBytes } = answer;
  if (status >= 400) {
    const error = classified();
    if (status === 429) throw error;
    // Without a code of the API, a 401 or 403 may as well be the agent's.
    if ((status === 401 || status === 403) && /API_KEY/.test(error.code ?? '')) throw error;
    const kind = spokenByApi(status, error);
    if (kind !== null) return { kind, message: error.message };
  }
  const sizeBytes = exceededBytes ?? body.byteLength;
  if (sizeBytes > limitBytes) return { kind: 'too-large', sizeBytes, limitBytes };
  const contentType = headers['content-type'];
  return { kind: 'answer', status, contentType: typeof contentType === 'string' ? contentType : null, body };
}

function spokenByApi(
  status: number,
  { code, message }: SandboxApiError,
): 'sandbox-not-found' | 'no-address' | 'not-listening' | 'unavailable' | null {
  switch (code) {
    case 'SANDBOX_NOT_FOUND':
      return 'sandbox-not-found';
    case 'POD_IP_NOT_AVAILABLE':
    case 'NETWORK_MODE_ENDPOINT_UNAVAILABLE':
      return 'no-address';
    case 'BACKEND_CONNECTION_FAILED':
      return 'not-listening';
  }
  if (status < 500) return null;
  // Older servers give the same words with a general code.
  return /could not connect to the backend/i.test(message) ? 'not-listening' : 'unavailable';
}

/** Segments are encoded; a query passes as it is. */
export function encodeProxyPath(path: string): string {
  // Half a surrogate pair cannot be encoded, and must not be what ends a watch.
  const [segments = '', ...query] = Buffer.from(path).toString('utf8').split('?');
  const encoded = segments.split('/').map(encodeURIComponent).join('/');
  return query.length === 0 ? encoded : `${encoded}?${query.join('?')}`;
}
