/** The connection to Temporal. No call of it lasts for ever, and every error of it is one of ours. */

import { Client, Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import type { ConnectionConfig } from './connection.js';
import { LonghaulError, toLonghaulError } from './errors.js';

const CONNECT_TIMEOUT_MS = 5000;
const CALL_DEADLINE_MS = 10_000;
/** gRPC's own default lets two minutes pass before it looks again for a service that was away. */
const MAX_RECONNECT_BACKOFF_MS = 3000;
/**
 * About 2 s against a service that cannot be reached. The ten of Temporal's client take 20 s, and look at no
 * deadline.
 */
const TRIES_PER_CALL = 5;

export interface CallOptions {
  /** The job that the call is about, for messages; `null` for none. */
  readonly jobId: string | null;
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal | undefined;
}

export class Temporal {
  readonly client: Client;
  readonly config: ConnectionConfig;
  readonly #connection: Connection;

  private constructor(connection: Connection, config: ConnectionConfig) {
    this.#connection = connection;
    this.config = config;
    this.client = new Client({ connection, namespace: config.namespace });
  }

  /** @throws LonghaulError TEMPORAL_UNREACHABLE when nobody answers within 5 s. */
  static async connect(config: ConnectionConfig): Promise<Temporal> {
    try {
      const connection = await Connection.connect({
        ...config.connection,
        connectTimeout: CONNECT_TIMEOUT_MS,
        interceptors: [makeGrpcRetryInterceptor(defaultGrpcRetryOptions({ maxAttempts: TRIES_PER_CALL }))],
        channelArgs: { 'grpc.max_reconnect_backoff_ms': MAX_RECONNECT_BACKOFF_MS },
      });
      return new Temporal(connection, config);
    } catch (error) {
      const known = toLonghaulError(error, config.connection.address, null);
      throw known.code === 'UNEXPECTED' ? cannotConnect(config, known) : known;
    }
  }

  /** @throws LonghaulError. An error that `explain` can name better is thrown as that. */
  async call<T>(
    options: CallOptions,
    work: () => Promise<T>,
    explain: (error: unknown) => Error | null = () => null,
  ): Promise<T> {
    const { jobId, deadlineMs = CALL_DEADLINE_MS, signal } = options;
    // Temporal's client never lets go of a signal that it was given, so each call has one of its own:
    // a watch of days would collect thousands of listeners.
    const ofThisCall = new AbortController();
    const abort = () => ofThisCall.abort(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    try {
      signal?.throwIfAborted();
      return await this.#connection.withAbortSignal(ofThisCall.signal, () =>
        this.#connection.withDeadline(Date.now() + deadlineMs, work),
      );
    } catch (error) {
      throw explain(error) ?? toLonghaulError(error, this.config.connection.address, jobId);
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }
}

/** Nobody listens, or what listens is something else; gRPC itself only says that its time was up. */
function cannotConnect({ connection, source }: ConnectionConfig, cause: Error): LonghaulError {
  const remedies = {
    options: 'check the address, and that the service runs',
    environment: 'check TEMPORAL_ADDRESS, and that the service runs; without it, `longhaul dev` is used',
    'dev-session': '`longhaul dev` runs, but its Temporal does not answer: start it again',
  };
  return new LonghaulError(
    'TEMPORAL_UNREACHABLE',
    `Temporal at ${connection.address} cannot be reached (${cause.message}).`,
    { remedy: remedies[source], cause },
  );
}
