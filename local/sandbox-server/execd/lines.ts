/** Cuts output into the texts of events. Pure. */

const NEWLINE = 0x0a;
const RETURN = 0x0d;
/** A line that is longer comes in pieces: memory is bounded, and so is an event. */
const MAX_LINE_BYTES = 2 ** 20;

/** Lines end with `\n`, `\r` or both, and come without it; an empty line is `\n`, since events without text are not sent. */
export class LineSplitter {
  #rest: Buffer = Buffer.alloc(0);
  #afterReturn = false;

  *push(chunk: Buffer): Generator<string> {
    let data = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let start = 0;
    let nextReturn = data.indexOf(RETURN, this.#rest.length);
    for (let scanned = this.#rest.length; ; scanned = start) {
      if (nextReturn !== -1 && nextReturn < scanned) nextReturn = data.indexOf(RETURN, scanned);
      const nextNewline = data.indexOf(NEWLINE, scanned);
      const isReturn = nextReturn !== -1 && (nextNewline === -1 || nextReturn < nextNewline);
      const end = isReturn ? nextReturn : nextNewline;
      if (end === -1) break;
      if (end > start) yield data.toString('utf8', start, end);
      else if (isReturn || !this.#afterReturn) yield '\n';
      this.#afterReturn = isReturn;
      start = end + 1;
    }
    data = data.subarray(start);
    if (data.length > 0) this.#afterReturn = false;
    while (data.length > MAX_LINE_BYTES) {
      const cut = characterStart(data, MAX_LINE_BYTES);
      yield data.toString('utf8', 0, cut);
      data = data.subarray(cut);
    }
    // A copy: the chunk that it is a part of may be large.
    this.#rest = Buffer.from(data);
  }

  /** What came after the last line end. */
  *end(): Generator<string> {
    if (this.#rest.length > 0) yield this.#rest.toString('utf8');
    this.#rest = Buffer.alloc(0);
  }
}

/** The last position up to `index` at which a UTF-8 character begins. */
function characterStart(data: Buffer, index: number): number {
  let start = index;
  while (start > index - 4 && ((data[start] ?? 0) & 0xc0) === 0x80) start--;
  return start;
}
