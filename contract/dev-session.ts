/**
 * The file in which `longhaul dev` says where everything is, so that the other commands find it by themselves.
 * It holds an API key of the local server and is readable by its owner only.
 */

export interface DevSession {
  /** Process of `longhaul dev`; the session is over when it is gone. */
  readonly pid: number;
  readonly startedAt: string;
  readonly temporal: { readonly address: string; readonly uiUrl: string | null; readonly pid: number };
  readonly sandboxApi: { readonly url: string; readonly gatewayUrl: string; readonly apiKey: string };
  readonly taskQueue: string;
  /** Where events, evidence and artifacts are kept. */
  readonly store: string;
}

/** Name of the file in the state folder. */
export const DEV_SESSION_FILE = 'dev.json';

type Environment = Readonly<Record<string, string | undefined>>;

/** Where a machine's local server keeps its data: `LONGHAUL_HOME`, else the state folder of the XDG rules. */
export function stateFolder(env: Environment): string {
  return env.LONGHAUL_HOME || `${env.XDG_STATE_HOME || `${env.HOME ?? '.'}/.local/state`}/longhaul`;
}

/** Where events, evidence and artifacts are kept: `LONGHAUL_STORE`, else a folder beside the other data. */
export function storeLocation(env: Environment): string {
  return env.LONGHAUL_STORE || `${stateFolder(env)}/store`;
}

/** The session as the environment that points every other command at it. */
export function sessionEnvironment(session: DevSession): Record<string, string> {
  return {
    TEMPORAL_ADDRESS: session.temporal.address,
    TEMPORAL_NAMESPACE: 'default',
    // Else an API key or a profile of the user's would turn TLS on.
    TEMPORAL_TLS: 'false',
    OPEN_SANDBOX_API_URL: session.sandboxApi.url,
    OPEN_SANDBOX_API_KEY: session.sandboxApi.apiKey,
    OPEN_SANDBOX_GATEWAY_URL: session.sandboxApi.gatewayUrl,
    LONGHAUL_TASK_QUEUE: session.taskQueue,
    LONGHAUL_STORE: session.store,
    LONGHAUL_PROFILE: 'dev',
  };
}
