/** Tells before a deploy whether jobs that earlier builds started can go on with this one. */

import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { createDataConverter } from '../codec/index.js';
import { WORKFLOW_BUNDLE } from './bundle.js';
import type { History } from './history-file.js';

/** A history that was found, or why it could not be had. */
export type Recorded = {
  /** Name of the file, or the ID of the workflow. */
  readonly name: string;
  readonly workflowId: string | null;
  readonly runId: string | null;
} & ({ readonly history: History } | { readonly unreadable: string });

export interface ReplayOutcome {
  readonly name: string;
  readonly workflowId: string | null;
  readonly runId: string | null;
  readonly events: number;
  readonly ok: boolean;
  /** `null` where all is well. */
  readonly kind: 'different' | 'failed' | 'unreadable' | null;
  readonly reason: string | null;
}

/**
 * Replays one history after the other, each as soon as it is there.
 * @param env where the keys of encrypted payloads are.
 * @throws CodecKeysError
 */
export async function* replay(
  recorded: AsyncIterable<Recorded>,
  env: Readonly<Record<string, string | undefined>>,
): AsyncGenerator<ReplayOutcome, void> {
  // Without the failure converter: why a replay failed must be readable.
  const { payloadCodecs = [] } = createDataConverter(env) ?? {};
  const unreadable: ReplayOutcome[] = [];
  let current: (Recorded & { readonly history: History }) | undefined;
  const results = Worker.runReplayHistories(
    {
      workflowBundle: { codePath: WORKFLOW_BUNDLE },
      replayName: 'longhaul-replay',
      dataConverter: { payloadCodecs },
    },
    readable(),
  );
  for await (const { error } of results) {
    yield* unreadable.splice(0);
    if (current !== undefined) yield outcomeOf(current, error);
  }
  yield* unreadable.splice(0);

  async function* readable() {
    for await (const each of recorded) {
      if ('history' in each) {
        current = each;
        yield { workflowId: each.workflowId ?? each.name, history: each.history };
      } else {
        const { name, workflowId, runId } = each;
        const reason = each.unreadable;
        unreadable.push({ name, workflowId, runId, events: 0, ok: false, kind: 'unreadable', reason });
      }
    }
  }
}

/** Once in a process, before the first replay: what fails is told by the outcome, not by logs. */
export function silenceReplays(): void {
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => {}),
    telemetryOptions: { logging: { forward: {}, filter: { core: 'ERROR', other: 'ERROR' } } },
  });
}

function outcomeOf(
  { name, workflowId, runId, history }: Recorded & { readonly history: History },
  error: Error | undefined,
): ReplayOutcome {
  const base = { name, workflowId, runId, events: history.events?.length ?? 0 };
  if (error === undefined) return { ...base, ok: true, kind: null, reason: null };
  const details = detailsOf(error.message);
  return error.name === 'DeterminismViolationError'
    ? { ...base, ok: false, kind: 'different', reason: `this build would act differently: ${details}` }
    : { ...base, ok: false, kind: 'failed', reason: `this build cannot carry it out: ${details}` };
}

/** Temporal wraps what happened into sentences of its own, and prints the innermost failure as Rust would. */
function detailsOf(message: string): string {
  const details = message.replace(/^[\s\S]*?Details: /, '').trim();
  const printed = /\bmessage: ("(?:[^"\\]|\\.)*")/.exec(details)?.[1];
  return printed === undefined
    ? details
    : unquoted(printed).replace(/^\[TMPRL1100\] Nondeterminism error: /, '');
}

function unquoted(printed: string): string {
  try {
    return String(JSON.parse(printed));
  } catch {
    // Rust has escapes that JSON does not know.
    return printed.slice(1, -1);
  }
}
