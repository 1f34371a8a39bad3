/** Keys of the store: what one may be, and how any text becomes a part of one. */

import { createHash } from 'node:crypto';

/** As long as a name in the usual file systems may be. */
const MAX_SEGMENT_CHARS = 255;
/** S3 takes 1024 bytes, and the prefix of the location is a part of them. */
const MAX_KEY_CHARS = 900;
const CHARACTERS = /^[A-Za-z0-9._=@+-]*$/;

/** Longer ones are cut, and told apart by a digest. */
const MAX_ENCODED_CHARS = 180;
const KEPT_CHARS = 100;
const PLAIN = /^[A-Za-z0-9._@+-]$/;

/**
 * One segment of a key for any text: readable where the text is, and another one for each other text. Bytes that
 * a key cannot have become `=XX`, and so do `=` and the dots of `.` and `..`. A text that is too long for the name
 * of a file keeps its beginning, and ends with `=-` and its SHA-256.
 */
export function keySegment(text: string): string {
  // Alone, since `=` never is.
  if (text === '') return '=';
  const encoded = /^\.{1,2}$/.test(text)
    ? text.replaceAll('.', '=2E')
    : Array.from(text, (character) => (PLAIN.test(character) ? character : escaped(character))).join('');
  if (encoded.length <= MAX_ENCODED_CHARS) return encoded;
  return `${encoded.slice(0, KEPT_CHARS)}=-${createHash('sha256').update(encoded).digest('hex')}`;
}

export function isKey(text: string): boolean {
  return text.length <= MAX_KEY_CHARS && text.split('/').every(isSegment);
}

/** @throws TypeError for a key that no store can have. */
export function checkKey(key: string): void {
  if (!isKey(key)) throw new TypeError(`"${key}" is not a key of the store.`);
}

/** @throws TypeError for a prefix with which no key can begin. */
export function checkPrefix(prefix: string): void {
  const segments = prefix.split('/');
  const last = segments.pop() ?? '';
  if (!segments.every(isSegment) || !CHARACTERS.test(last))
    throw new TypeError(`No key of the store begins with "${prefix}".`);
}

function isSegment(text: string): boolean {
  return (
    text !== '' && text !== '.' && text !== '..' && text.length <= MAX_SEGMENT_CHARS && CHARACTERS.test(text)
  );
}

function escaped(character: string): string {
  return [...bytesOf(character)]
    .map((byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
}

/** UTF-8, which has no place for half a surrogate pair: all of those would become the same replacement character. */
function bytesOf(character: string): Iterable<number> {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0xd800 || code > 0xdfff) return Buffer.from(character);
  return [0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)];
}
