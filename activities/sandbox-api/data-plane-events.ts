/** Reads the events of a command. The wire's are JSON lines; those that are server-sent events are understood, too. */

import { z } from 'zod';

const event = z.looseObject({
  type: z.string().optional(),
  text: z.string().optional(),
  error: z.looseObject({ evalue: z.string(), traceback: z.array(z.string()).optional() }).optional(),
  code: z.string().optional(),
  message: z.string().optional(),
});

export type StreamEvent =
  | { readonly kind: 'started'; readonly commandId: string }
  /** One line with its end; the wire does not tell whether the last one had any. */
  | { readonly kind: 'stdout' | 'stderr'; readonly text: string }
  /** `exitCode` is -1 after a signal, and `null` when the command never ran. */
  | { readonly kind: 'ended'; readonly exitCode: number | null; readonly reason: string };

/** Longest event; execd cuts lines of output at 1 MiB, of which JSON may make six times as much. */
const MAX_LINE_CHARS = 16 * 2 ** 20;

/** @throws Error for what cannot be the stream of a command. */
export async function* readEvents(body: AsyncIterable<Buffer>): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true });
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield* readLine(line);
    if (rest.length > MAX_LINE_CHARS) throw new Error('an event is too long');
  }
  yield* readLine(rest + decoder.decode());
}

function* readLine(line: string): Generator<StreamEvent> {
  const text = line.replace(/^data:/, '').trim();
  if (!text.startsWith('{')) return;
  const { success, data } = event.safeParse(JSON.parse(text));
  if (!success) return;
  switch (data.type) {
    case 'init':
      yield { kind: 'started', commandId: data.text ?? '' };
      return;
    case 'stdout':
    case 'stderr':
      yield { kind: data.type, text: data.text === '\n' ? '\n' : `${data.text ?? ''}\n` };
      return;
    case 'execution_complete':
      yield { kind: 'ended', exitCode: 0, reason: '' };
      return;
    case 'error': {
      const { evalue = '', traceback = [] } = data.error ?? {};
      const exitCode = /^-?\d+$/.test(evalue) ? Number(evalue) : null;
      yield { kind: 'ended', exitCode, reason: traceback.join('; ') || evalue };
      return;
    }
    case undefined:
      // An error that came too late to be an answer.
      if (data.code !== undefined) yield { kind: 'ended', exitCode: null, reason: data.message ?? data.code };
  }
}
