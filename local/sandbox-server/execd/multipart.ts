/** Takes a body of multipart/form-data apart as it arrives, in constant memory (RFC 7578, RFC 2046 5.1.1). */

export type MultipartEvent =
  | { readonly kind: 'part'; readonly name: string; readonly isFile: boolean }
  | { readonly kind: 'data'; readonly chunk: Buffer };

/** The body is not what its content type says. */
export class MultipartError extends Error {
  override readonly name = 'MultipartError';
}

const MAX_HEADERS_BYTES = 16 * 1024;
const HEADERS_END = Buffer.from('\r\n\r\n');

/** @throws MultipartError when there is none. */
export function boundaryOf(contentType: string | undefined): string {
  const [, quoted, bare] =
    /^multipart\/form-data\s*;.*?boundary=(?:"([^"]{1,200})"|([^\s;]{1,200}))/i.exec(contentType ?? '') ?? [];
  const boundary = quoted ?? bare;
  if (boundary === undefined) throw new MultipartError('no boundary');
  return boundary;
}

/**
 * Each part, and what is in it.
 * @throws MultipartError when the body is cut off or malformed.
 */
export async function* readMultipart(
  body: AsyncIterable<Buffer>,
  boundary: string,
): AsyncGenerator<MultipartEvent> {
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  // The first delimiter need not follow a line end: so it always does.
  let rest: Buffer = Buffer.from('\r\n');
  let state: 'preamble' | 'headers' | 'data' | 'end' = 'preamble';
  for await (const chunk of body) {
    if (state === 'end') continue;
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      if (state === 'headers') {
        if (rest.subarray(0, 2).toString('latin1') === '--') {
          state = 'end';
          break;
        }
        const end = rest.indexOf(HEADERS_END);
        if (end === -1 && rest.length > MAX_HEADERS_BYTES) throw new MultipartError('headers too long');
        if (end === -1) break;
        yield partOf(rest.toString('utf8', 0, end));
        rest = rest.subarray(end + HEADERS_END.length);
        state = 'data';
        // A part may be empty: then its delimiter begins with the line end of the headers.
        if (rest.indexOf(delimiter.subarray(2)) === 0) rest = Buffer.concat([Buffer.from('\r\n'), rest]);
      }
      const at = rest.indexOf(delimiter);
      // What might be the beginning of a delimiter waits for more.
      const sure = at === -1 ? Math.max(0, rest.length - delimiter.length) : at;
      if (state === 'data' && sure > 0) yield { kind: 'data', chunk: rest.subarray(0, sure) };
      rest = rest.subarray(at === -1 ? sure : at + delimiter.length);
      if (at === -1) break;
      state = 'headers';
    }
  }
  if (state !== 'end') throw new MultipartError('cut off');
}

function partOf(headers: string): MultipartEvent {
  const line = headers.split('\r\n').find((each) => /^content-disposition:/i.test(each)) ?? '';
  const name = /[;\s]name="((?:[^"\\]|\\.)*)"|[;\s]name=([^\s;"]+)/i.exec(line);
  return { kind: 'part', name: name?.[1] ?? name?.[2] ?? '', isFile: /[;\s]filename\*?=/i.test(line) };
}
