/**
 * Finds the `longhaul dev` that runs on this machine, so that no environment has to be set to use it.
 * Whoever has set up a Temporal of their own never gets half of this one: it is used as a whole or not at all.
 */

import { readFileSync } from 'node:fs';
import {
  DEV_SESSION_FILE,
  type DevSession,
  sessionEnvironment,
  stateFolder,
} from '../contract/dev-session.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The session of a `longhaul dev` that is alive; `null` when there is none. Never throws. */
export function readDevSession(env: Environment): DevSession | null {
  let session: DevSession;
  try {
    session = JSON.parse(readFileSync(`${stateFolder(env)}/${DEV_SESSION_FILE}`, 'utf8')) as DevSession;
  } catch {
    return null;
  }
  return isComplete(session) && isAlive(session.pid) ? session : null;
}

/** The session's variables below those of the environment, service by service. */
export function underEnvironment(session: DevSession, env: Environment): Environment {
  const offered = Object.entries(sessionEnvironment(session));
  const isOwnApi = Boolean(env.OPEN_SANDBOX_API_URL);
  // Never the key of one server with the address of another.
  const usable = offered.filter(([name]) => !(isOwnApi && name.startsWith('OPEN_SANDBOX_')));
  const set = Object.entries(env).filter(([, value]) => value !== undefined && value !== '');
  return { ...Object.fromEntries(usable), ...Object.fromEntries(set) };
}

/** Half-written files and those of other versions are no session. */
function isComplete(session: DevSession | null): boolean {
  return (
    Number.isInteger(session?.pid) &&
    typeof session?.temporal?.address === 'string' &&
    typeof session.sandboxApi?.url === 'string' &&
    typeof session.taskQueue === 'string' &&
    typeof session.store === 'string'
  );
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It exists, but belongs to somebody else.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
