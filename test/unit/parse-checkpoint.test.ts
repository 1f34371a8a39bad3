import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCheckpoint } from '../../activities/watch/parse-checkpoint.js';

const READ_AT = '2026-12-01T10:00:00.000Z';

function parse(body: string | Buffer, status = 200) {
  return parseCheckpoint(status, Buffer.from(body), READ_AT);
}

describe('reading a checkpoint', () => {
  it('keeps a summary and a digest, not the document', () => {
    const body = '{"status":"running","step":12,"progress":0.4,"message":"m","secretStuff":{"a":1}}';
    expect(parse(body)).toEqual({
      kind: 'checkpoint',
      result: null,
      errorMessage: null,
      question: null,
      summary: {
        status: 'running',
        step: 12,
        progress: 0.4,
        message: 'm',
        digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
        sizeBytes: body.length,
        readAt: READ_AT,
        updatedAt: null,
        wakeAt: null,
      },
    });
  });

  it('takes a document without a status as that of a running agent', () => {
    expect(parse('{"phase":"train","step":40}')).toMatchObject({ summary: { status: 'running', step: 40 } });
  });

  it('hands on the result of an agent that is done and the error of one that failed', () => {
    expect(parse('{"status":"done","result":{"n":1}}')).toMatchObject({ result: { n: 1 } });
    expect(parse('{"status":"failed","error":{"message":"out of luck"}}')).toMatchObject({
      errorMessage: 'out of luck',
    });
  });

  it('cuts long messages', () => {
    const parsed = parse(JSON.stringify({ status: 'running', message: 'x'.repeat(5000) }));
    expect(parsed.kind === 'checkpoint' && parsed.summary.message).toHaveLength(400);
  });

  it('ignores a byte order mark', () => {
    expect(parse('\uFEFF{"step":1}')).toMatchObject({ summary: { step: 1 } });
  });

  it.each([
    ['an empty body', '', 200],
    ['no content', '', 204],
    ['a document that is not there yet', 'not found', 404],
    ['an error of the agent', '{"step":1}', 500],
    ['half a document', '{"phase":"train","st', 200],
    ['an old tail left behind', '{"step":12}"step":11}}', 200],
    ['a login page', '<!DOCTYPE html><html>Sign in</html>', 200],
    ['NaN', '{"step":NaN}', 200],
    ['Infinity', '{"progress":Infinity}', 200],
    ['a list', '[1,2]', 200],
    ['null', 'null', 200],
    ['a string', '"done"', 200],
    ['something of another kind', '{"ok":true}', 200],
    ['an unknown status', '{"status":"finished"}', 200],
    ['a step in quotes', '{"status":"running","step":"12"}', 200],
    ['progress in per cent', '{"status":"running","progress":40}', 200],
    ['what is not text', Buffer.from([0xff, 0xfe, 0x7b]), 200],
    ['depth beyond reason', '['.repeat(100_000), 200],
  ])('finds no checkpoint in %s, and shows nothing of the content', (_, body, status) => {
    const parsed = parse(body, status);
    expect(parsed.kind).toBe('unreadable');
    expect(JSON.stringify(parsed)).not.toMatch(/DOCTYPE|train|Sign in|SyntaxError/);
  });

  it('is not confused by brackets inside strings', () => {
    expect(parse(JSON.stringify({ step: 1, message: '[{"'.repeat(100) })).kind).toBe('checkpoint');
  });

  it('never throws, whatever it is given', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array(),
          fc.json().map((text) => Buffer.from(text)),
        ),
        (body) => {
          expect(['checkpoint', 'unreadable']).toContain(parse(Buffer.from(body)).kind);
        },
      ),
    );
  });
});
