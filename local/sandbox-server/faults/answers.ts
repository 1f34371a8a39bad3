/** Answers that go wrong on their way: refused, dropped, cut, or dated by a wrong clock. */

import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { send } from '../respond.js';
import type { FaultOf } from './rule.js';

/** The codes that a real server was recorded to use with these. */
const CODES: Record<number, string> = {
  429: 'LOCAL::POOL_CAPACITY_EXHAUSTED',
  502: 'BACKEND_CONNECTION_FAILED',
  504: 'BACKEND_TIMEOUT',
};
const TYPES = { json: 'application/json', html: 'text/html', text: 'text/plain; charset=utf-8' };

interface FaultAnswer {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

export function faultAnswer({ status, format, code, retryAfter }: FaultOf<'status'>): FaultAnswer {
  const message = 'This answer was ordered by a fault rule.';
  const bodies = {
    json: JSON.stringify({ code: code ?? CODES[status] ?? 'LOCAL::FAULT', message }),
    html: `<html>\r\n<head><title>${status}</title></head>\r\n<body><h1>${status}</h1>${message}</body>\r\n</html>\r\n`,
    text: message,
    empty: '',
  };
  return {
    body: bodies[format],
    headers: {
      ...(format === 'empty' ? {} : { 'content-type': TYPES[format] }),
      ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }),
    },
  };
}

export function answerFault(response: ServerResponse, fault: FaultOf<'status'>): void {
  const { body, headers } = faultAnswer(fault);
  send(response, fault.status, body, headers);
}

export function refuseUpgradeByFault(socket: Duplex, fault: FaultOf<'status'>): void {
  const { body, headers } = faultAnswer(fault);
  const all = { ...headers, 'content-length': `${Buffer.byteLength(body)}`, connection: 'close' };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${fault.status} Fault\r\n${lines.join('')}\r\n${body}`);
}

/** The connection ends where the answer would begin. */
export function dropAnswer(response: ServerResponse): void {
  onceWrittenHead(response, () => response.destroy());
}

/** What was done gets another answer than its own. */
export function replaceAnswer(response: ServerResponse, fault: FaultOf<'status'>): void {
  onceWrittenHead(response, () => answerFault(response, fault));
}

/** The answer's own head and body go nowhere. */
function onceWrittenHead(response: ServerResponse, act: () => void): void {
  const { writeHead, write, end } = response;
  response.writeHead = () => {
    Object.assign(response, { writeHead, write, end });
    act();
    response.writeHead = () => response;
    response.write = () => true;
    response.end = () => response;
    response.flushHeaders = () => undefined;
    return response;
  };
}

/** Passes on the first bytes of the body, and then ends the connection or, with `whole`, the body. */
export function cutAnswer(response: ServerResponse, { bytes, framing }: FaultOf<'truncate'>): void {
  const writeHead = response.writeHead.bind(response) as (...head: unknown[]) => ServerResponse;
  const write = response.write.bind(response) as (chunk: Buffer, done?: () => void) => boolean;
  const end = response.end.bind(response) as () => ServerResponse;
  let left = bytes;
  const pass = (chunk: unknown): boolean => {
    if (left < 0) return true;
    const whole = Buffer.from(chunk as string | Uint8Array);
    const part = whole.subarray(0, left);
    if (part.length === whole.length) {
      left -= part.length;
      return write(part);
    }
    left = -1;
    if (framing === 'whole') {
      write(part);
      end();
    } else {
      write(part, () => response.destroy());
    }
    return true;
  };
  response.writeHead = ((...head: unknown[]) => {
    const headers = head.at(-1);
    if (framing === 'broken' || headers === null || typeof headers !== 'object') return writeHead(...head);
    const { 'content-length': _, ...others } = headers as Record<string, unknown>;
    return writeHead(...head.slice(0, -1), others);
  }) as ServerResponse['writeHead'];
  response.write = ((chunk: unknown) => pass(chunk)) as ServerResponse['write'];
  response.end = ((chunk?: unknown) => {
    if (chunk !== undefined && chunk !== null && typeof chunk !== 'function') pass(chunk);
    if (left >= 0) end();
    return response;
  }) as ServerResponse['end'];
}
