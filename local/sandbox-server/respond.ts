/** Answers of the server itself, in the recorded shapes. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError, RequestShapeError, RouteError } from './errors.js';

/** Enough for a long inline script as an entrypoint. */
const MAX_BODY_BYTES = 4 * 2 ** 20;

export function sendJson(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  send(response, status, JSON.stringify(body), { 'content-type': 'application/json', ...headers });
}

export function send(response: ServerResponse, status: number, body: string, headers = {}): void {
  const length = status === 204 ? {} : { 'content-length': Buffer.byteLength(body) };
  response.writeHead(status, { ...headers, ...length }).end(body);
}

/** Status, body and headers of a refusal; an error that is none of ours becomes a 500 without details. */
export function errorAnswer(error: unknown): {
  status: number;
  body: unknown;
  headers?: Readonly<Record<string, string>>;
} {
  if (error instanceof ApiError) {
    const { status, code, message, detail } = error;
    return { status, body: { code, message, ...(detail === undefined ? {} : { detail }) } };
  }
  if (error instanceof RequestShapeError) return { status: 422, body: { detail: error.issues } };
  if (error instanceof RouteError) {
    return { status: error.status, body: { detail: error.message }, headers: error.headers };
  }
  const message = 'The sandbox server failed; its log says why.';
  return { status: 500, body: { code: 'LOCAL::INTERNAL_ERROR', message } };
}

/**
 * The JSON body of a request.
 * @throws RequestShapeError 422 when there is none or it is not JSON, ApiError 413 when it is too large.
 */
export function readJson(request: IncomingMessage): Promise<unknown> {
  // A fault rule may have looked into it before its turn; a stream is read once.
  const body = bodies.get(request) ?? parseBody(request);
  bodies.set(request, body);
  return body;
}

const bodies = new WeakMap<IncomingMessage, Promise<unknown>>();

async function parseBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  if (sizeBytes > MAX_BODY_BYTES) {
    throw new ApiError(413, 'LOCAL::BODY_TOO_LARGE', `The body is larger than ${MAX_BODY_BYTES} bytes.`);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  if (text === '') throw new RequestShapeError([{ type: 'missing', loc: ['body'], msg: 'Field required' }]);
  if (!/^application\/([\w.-]+\+)?json\b/i.test(request.headers['content-type'] ?? '')) return text;
  try {
    return JSON.parse(text);
  } catch (error) {
    const position = /at position (\d+)/.exec(String(error))?.[1] ?? text.length;
    const loc = ['body', Number(position)];
    throw new RequestShapeError([{ type: 'json_invalid', loc, msg: 'JSON decode error' }]);
  }
}
