/**
 * Creates the sandbox of a job: exactly one, although the API has no idempotency key.
 * An attempt that follows one which may have created a sandbox looks for it by its labels first.
 */

import { activityInfo, heartbeat } from '@temporalio/activity';
import type { CreateInput, CreateOutcome, WatchOutcome } from '../contract/activities.js';
import { removeAll } from './delete-sandboxes.js';
import type { Dependencies } from './dependencies.js';
import { describe } from './drive-state.js';
import { entrypointOf } from './entrypoint.js';
import { final } from './failures.js';
import { heartbeatSleep, heartbeatWhile } from './heartbeats.js';
import { labelsOf, ownerLabels, volumeNameOf } from './labels.js';
import { type Sandbox, SandboxApiError, StartFailedError, UnreachableError } from './sandbox-api/index.js';
import { firstWatch } from './watch/first-watch.js';

/** A created sandbox may become visible in the list only after some seconds (seen: 5 s). */
const SETTLE_MS = 10_000;
/** A sandbox that is still being made after this is given up (image pulls and volume attachment take minutes). */
const START_DEADLINE_MS = 10 * 60_000;
const POLL_MS = 1000;

/** What an attempt leaves for the next one: whether a sandbox may exist that nobody has an answer for. */
interface Trail {
  readonly mayExist: boolean;
}

export function createSandboxWith({ api, profile, namespace }: Dependencies) {
  return async function createSandbox(input: CreateInput): Promise<CreateOutcome> {
    const { owner, epoch, sandbox: spec } = input;
    const metadata = labelsOf(namespace, owner, epoch);
    // An attempt that died without a word may have done anything.
    const trail = (activityInfo().heartbeatDetails as Trail | undefined) ?? {
      mayExist: activityInfo().attempt > 1,
    };

    const adopted = trail.mayExist ? await findSettled() : null;
    const created = adopted ?? (await create());
    const started = await waitUntilStarted(created);
    const first =
      input.checkpoint === undefined
        ? {}
        : await firstWatch(
            api,
            {
              sandbox: { id: started.id, incarnation: 1 },
              checkpoint: input.checkpoint,
              profile,
              cursor: null,
            },
            () => leaveTrail(true),
          );
    return {
      sandboxId: started.id,
      adopted: adopted !== null,
      createdAt: started.createdAt ?? new Date().toISOString(),
      profile,
      ...first,
      ...(await deleteDone(started.id, first)),
    };

    /** Whatever goes wrong is left to the deletion that follows. */
    async function deleteDone(id: string, { firstWatch: seen }: { firstWatch?: WatchOutcome }) {
      if (!input.deleteWhenDone || seen?.kind !== 'done') return {};
      return heartbeatWhile(removeAll(api, ownerLabels(owner), id)).then(
        () => ({ deleted: true }),
        () => ({}),
      );
    }

    async function create(): Promise<Sandbox> {
      const request = {
        image: spec.image,
        entrypoint: entrypointOf(spec),
        env: { ...spec.env, LONGHAUL_JOB_ID: owner.jobId, LONGHAUL_INCARNATION: String(epoch) },
        resources: spec.resources,
        persistence: spec.persistence,
        volumeName: volumeNameOf(owner, epoch),
        metadata,
      };
      try {
        leaveTrail(true);
        // Without the activity's cancellation: a create that is cut off is one whose result nobody knows.
        return await heartbeatWhile(api.create(request), { mayExist: true } satisfies Trail);
      } catch (error) {
        // A definite refusal leaves nothing to look for.
        if (error instanceof SandboxApiError)
          leaveTrail(error instanceof UnreachableError && error.ambiguous);
        if (error instanceof StartFailedError) await removeAll(api, ownerLabels(owner), error.sandboxIdHint);
        throw error;
      }
    }

    /** Looks for the sandbox of an unanswered create until it could not but be visible. */
    async function findSettled(): Promise<Sandbox | null> {
      const giveUpAt = Date.now() + SETTLE_MS;
      for (;;) {
        const found = (await api.list({ metadata })).filter(isAlive);
        const [first, ...others] = found;
        if (first !== undefined) {
          for (const other of others) await api.delete(other.id);
          return first;
        }
        if (Date.now() >= giveUpAt) return null;
        await heartbeatSleep(POLL_MS, trail);
      }
    }

    async function waitUntilStarted(created: Sandbox): Promise<Sandbox> {
      const giveUpAt = Date.now() + START_DEADLINE_MS;
      let latest: Sandbox | null = created;
      while (latest !== null && isStarting(latest)) {
        if (Date.now() >= giveUpAt) {
          await removeAll(api, ownerLabels(owner), latest.id);
          throw final(
            'SANDBOX_START_FAILED',
            `Sandbox ${latest.id} is still ${describe(latest)} after 10 minutes.`,
          );
        }
        await heartbeatSleep(POLL_MS, { mayExist: true } satisfies Trail);
        latest = await api.get(created.id);
      }
      if (latest === null) {
        throw final('SANDBOX_START_FAILED', `Sandbox ${created.id} disappeared while it was being started.`);
      }
      return latest;
    }
  };
}

function leaveTrail(mayExist: boolean): void {
  heartbeat({ mayExist } satisfies Trail);
}

function isAlive(sandbox: Sandbox): boolean {
  return !['Failed', 'Terminated', 'Stopping', 'Terminating'].includes(sandbox.state);
}

/** The set of states is open; of those seen, these come before the first `Running`. */
function isStarting(sandbox: Sandbox): boolean {
  return ['Pending', 'Allocated', 'Creating', 'Starting', 'Unknown'].includes(sandbox.state);
}
