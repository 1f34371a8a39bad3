/** What the client of the sandbox API takes and gives. */

import type { Persistence } from '../../contract/job-spec.js';

/** Time limits per kind of call. A limit covers the whole exchange: connecting, headers and body. */
export interface Timeouts {
  /** A create may pull an image and wait for a volume; the server itself gives up earlier. */
  readonly createMs: number;
  /** pause, resume, delete. */
  readonly lifecycleMs: number;
  /** get, list. */
  readonly readMs: number;
  /** Through the proxy to the agent; for a frozen sandbox the API itself waits 180 s. */
  readonly proxyMs: number;
  readonly diagnosticsMs: number;
}

export interface SandboxApiOptions {
  /** Taken as given: `/v1` is part of it or not, as the deployment says. */
  readonly apiUrl: string;
  readonly apiKey: string;
  /** How this deployment is asked for a volume: the managed product by extensions, vanilla by volumes. */
  readonly persistence: 'extensions' | 'volumes' | 'none';
  readonly timeouts?: Partial<Timeouts>;
}

export interface CreateRequest {
  readonly image: string;
  readonly entrypoint: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly resources: { readonly cpu: string; readonly memory: string };
  readonly persistence: Persistence | null;
  /** Name of the volume claim, where volumes are asked for by name. */
  readonly volumeName: string;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface Sandbox {
  readonly id: string;
  /** An open set: Pending, Running, Pausing, Paused, Resuming, Failed, Terminated, and whatever else. */
  readonly state: string;
  readonly reason: string | null;
  readonly message: string | null;
  readonly image: string | null;
  readonly createdAt: string | null;
  /** `null` where the deployment does not echo it. */
  readonly metadata: Readonly<Record<string, string>> | null;
}

/** What came back through the proxy. */
export type ProxyAnswer =
  /** The agent's own answer, whatever its status. Redirects are not followed. */
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly contentType: string | null;
      readonly body: Buffer;
    }
  /** The agent's answer was longer than allowed; the rest was not read. */
  | { readonly kind: 'too-large'; readonly sizeBytes: number; readonly limitBytes: number }
  /** The sandbox is there, but nobody listens on the port. */
  | { readonly kind: 'not-listening'; readonly message: string }
  /** The sandbox has no address: paused, starting or exited. */
  | { readonly kind: 'no-address'; readonly message: string }
  /** A hint only: the lifecycle API decides whether a sandbox is gone. */
  | { readonly kind: 'sandbox-not-found'; readonly message: string }
  /** Nobody knows: a time-out, a cut connection, an error of a load balancer. */
  | { readonly kind: 'unavailable'; readonly message: string };

export interface ProxyOptions {
  readonly maxBytes: number;
  /** For the whole exchange. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface SandboxApi {
  /** @throws StartFailedError, RefusedError, QuotaExceededError and what every call throws. */
  create(request: CreateRequest, signal?: AbortSignal): Promise<Sandbox>;
  /** `null` only by the positive word of the API that there is no such sandbox. */
  get(id: string, signal?: AbortSignal): Promise<Sandbox | null>;
  /** All sandboxes whose metadata contain these, over all pages. */
  list(
    filter: { readonly metadata: Readonly<Record<string, string>> },
    signal?: AbortSignal,
  ): Promise<Sandbox[]>;
  /** @throws ConflictError, UnsupportedError, SandboxNotFoundError and what every call throws. */
  pause(id: string, signal?: AbortSignal): Promise<void>;
  /** @throws ConflictError, UnsupportedError, SandboxNotFoundError and what every call throws. */
  resume(id: string, signal?: AbortSignal): Promise<void>;
  /** One that is gone already counts as deleted. */
  delete(id: string, signal?: AbortSignal): Promise<void>;
  /** @throws KeyRejectedError, RateLimitedError, the signal's reason; everything else is an answer. */
  readThroughProxy(id: string, port: number, path: string, options: ProxyOptions): Promise<ProxyAnswer>;
  /** As `readThroughProxy`. What is unavailable may have been carried out all the same. */
  postThroughProxy(
    id: string,
    port: number,
    path: string,
    options: ProxyOptions & { readonly body: unknown; readonly headers: Readonly<Record<string, string>> },
  ): Promise<ProxyAnswer>;
  /** The last lines as text, whichever form the deployment gives; at most 256 Ki characters of it. */
  diagnostics(
    id: string,
    kind: 'logs' | 'events' | 'inspect',
    options?: { readonly tailLines?: number; readonly signal?: AbortSignal },
  ): Promise<string>;
  /** Makes the cheapest request that needs the key. @throws KeyRejectedError and what every call throws. */
  checkKey(signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
}
