import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keySegment } from '../../store/index.js';
import { isKey } from '../../store/keys.js';

describe('the segment of a key for a text', () => {
  it.each([
    ['job-1', 'job-1'],
    ['team/nightly audit', 'team=2Fnightly=20audit'],
    ['v1.2_a@b+c', 'v1.2_a@b+c'],
    ['..', '=2E=2E'],
    ['.', '=2E'],
    ['...', '...'],
    ['a=b', 'a=3Db'],
    ['', '='],
    ['\0', '=00'],
    ['ü', '=C3=BC'],
    ['😀', '=F0=9F=98=80'],
  ])('of %j is %s', (text, segment) => {
    expect(keySegment(text)).toBe(segment);
  });

  const anyText = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.string({ unit: fc.constantFrom('.', '=', '/', '-', '2', 'E', '\ud800', '\udfff', '\ufffd', '~') }),
  );

  it('is one segment, short enough for every file system', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const segment = keySegment(text);
        expect(segment).not.toContain('/');
        expect(isKey(segment)).toBe(true);
        expect(segment.length).toBeLessThanOrEqual(180);
      }),
    );
  });

  it('is another one for each other text', () => {
    fc.assert(
      fc.property(anyText, anyText, (a, b) => {
        expect(keySegment(a) === keySegment(b)).toBe(a === b);
      }),
    );
  });

  it('tells long texts apart that begin alike, and from what looks like their segment', () => {
    const long = 'x'.repeat(1000);
    const segment = keySegment(`${long}1`);
    expect(segment).not.toBe(keySegment(`${long}2`));
    expect(segment).toMatch(/^x{100}=-[0-9a-f]{64}$/);
    expect(keySegment(segment)).not.toBe(segment);
  });

  it('keeps halves of surrogate pairs apart, which UTF-8 does not know', () => {
    const segments = ['\ud800', '\ud801', '\udc00', '\ufffd'].map(keySegment);
    expect(new Set(segments).size).toBe(4);
  });
});
