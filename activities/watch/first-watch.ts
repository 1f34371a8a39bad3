/**
 * A short watch right after a start, inside the activity that started the sandbox: most agents answer within a
 * second, and a watch of its own would cost a round trip through Temporal and six events.
 */

import { cancellationSignal } from '@temporalio/activity';
import type { SandboxRef, WatchCursor, WatchOutcome, WatchProfile } from '../../contract/activities.js';
import type { CheckpointSpec } from '../../contract/job-spec.js';
import type { SandboxApi } from '../sandbox-api/index.js';
import { watchFrom } from './watch-sandbox.js';

/** A hold that comes meanwhile has to wait for so long at most. */
const FIRST_WATCH_MS = 3000;
const BEAT_EVERY_MS = 1000;

export interface FirstWatchInput {
  readonly sandbox: SandboxRef;
  readonly checkpoint: CheckpointSpec;
  readonly profile: WatchProfile;
  readonly cursor: WatchCursor | null;
}

/** What it saw; nothing where the agent did not answer in time, or nobody could be asked. */
export async function firstWatch(
  api: SandboxApi,
  input: FirstWatchInput,
  beat: () => void,
): Promise<{ readonly firstWatch?: WatchOutcome }> {
  try {
    const outcome = await watchFrom(input.cursor, {
      api,
      input: { ...input, mode: 'starting' },
      signal: cancellationSignal(),
      limitMs: FIRST_WATCH_MS,
      beatEveryMs: BEAT_EVERY_MS,
      beat,
    });
    return outcome.kind === 'slice-over' ? {} : { firstWatch: outcome };
  } catch {
    // The sandbox was started, and that must be told; the next watch meets the trouble by itself.
    return {};
  }
}
