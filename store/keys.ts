/** Keys of the store. */

/** Characters that a segment of a key may have; `%` and `~` are left out, since they encode the others. */
const PLAIN = /[A-Za-z0-9._=@+-]/;
const KEY = /^(?!\.{1,2}(\/|$))[A-Za-z0-9._=@+-]+(\/(?!\.{1,2}(\/|$))[A-Za-z0-9._=@+-]+)*$/;

/**
 * One segment of a key for any text: readable where the text is, and another one for each other text.
 * Bytes that a key cannot have become `=XX`; `=` itself too, and the dots of `.` and `..`.
 */
export function keySegment(text: string): string {
  if (text === '') return '=00';
  const encoded = [...Buffer.from(text, 'utf8')]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return character !== '=' && PLAIN.test(character) ? character : hex(byte);
    })
    .join('');
  return /^\.{1,2}$/.test(encoded) ? encoded.replaceAll('.', hex(0x2e)) : encoded;
}

/** @throws TypeError for a key that no store can have. */
export function checkKey(key: string): void {
  if (!KEY.test(key)) throw new TypeError(`"${key}" is not a key of the store.`);
}

function hex(byte: number): string {
  return `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
}
