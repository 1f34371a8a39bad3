/** All that a worker process is told by its environment, read and checked in this one place. */

import { z } from 'zod';
import type { WatchProfile } from '../contract/activities.js';
import { storeLocation } from '../contract/dev-session.js';
import { DEFAULT_TASK_QUEUE } from '../contract/messages.js';

/**
 * How soon a job is watched again after its worker was killed, against what heartbeats cost:
 * with a throttle of 0.8 of the timeout a watch costs 8,640, 1,800 or 360 heartbeats a day.
 */
export const PROFILES = {
  dev: { heartbeatTimeoutMs: 10_000, heartbeatThrottleMs: 2_000 },
  'self-hosted': { heartbeatTimeoutMs: 60_000, heartbeatThrottleMs: 48_000 },
  cloud: { heartbeatTimeoutMs: 300_000, heartbeatThrottleMs: 240_000 },
} as const;

/** No activity lasts longer than this; each slice costs six events. */
const SLICE_MS = 24 * 3_600_000;

const address = z
  .string()
  .regex(/^(?:.+:)?\d{1,5}$/, { error: 'expected HOST:PORT or PORT' })
  .transform((text) => {
    const colon = text.lastIndexOf(':');
    return { host: colon < 0 ? '127.0.0.1' : text.slice(0, colon), port: Number(text.slice(colon + 1)) };
  });

const schema = z.object({
  OPEN_SANDBOX_API_URL: z.url({ protocol: /^https?$/, error: 'expected an http or https URL' }),
  OPEN_SANDBOX_API_KEY: z.string({ error: 'is missing' }).min(1, { error: 'is empty' }),
  OPEN_SANDBOX_GATEWAY_URL: z
    .url({ protocol: /^https?$/, error: 'expected an http or https URL' })
    .optional(),
  LONGHAUL_PERSISTENCE: z.enum(['extensions', 'volumes', 'none']).default('extensions'),
  LONGHAUL_PROFILE: z.enum(['dev', 'self-hosted', 'cloud']).default('self-hosted'),
  LONGHAUL_TASK_QUEUE: z.string().min(1).default(DEFAULT_TASK_QUEUE),
  LONGHAUL_STORE: z.string().min(1).optional(),
  LONGHAUL_MAX_WATCHES: z.coerce.number().int().min(1).max(100_000).default(5000),
  LONGHAUL_SHUTDOWN_GRACE_SECONDS: z.coerce.number().int().min(0).max(600).default(10),
  LONGHAUL_LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  LONGHAUL_HEALTH_ADDRESS: address.optional(),
  LONGHAUL_METRICS_ADDRESS: address.optional(),
  LONGHAUL_STOP_WITH_PARENT: z.literal('1').optional(),
});

export interface WorkerConfig {
  readonly sandboxApi: {
    readonly apiUrl: string;
    readonly apiKey: string;
    readonly gatewayUrl: string | null;
    readonly persistence: 'extensions' | 'volumes' | 'none';
  };
  readonly taskQueue: string;
  /** Where events, evidence and artifacts are kept. */
  readonly store: string;
  readonly watch: WatchProfile;
  /** Longest time between a heartbeat and the next that is sent; bounds how late a watch hears of its end. */
  readonly heartbeatThrottleMs: number;
  /** Agents that this process watches at once. */
  readonly maxWatches: number;
  /** Time for requests in flight when the process is asked to stop. */
  readonly shutdownGraceMs: number;
  readonly logLevel: string;
  readonly health: { readonly host: string; readonly port: number } | null;
  readonly metrics: { readonly host: string; readonly port: number } | null;
  /** Stop when standard input ends: how `longhaul dev` takes its worker with it, even by SIGKILL. */
  readonly stopsWithParent: boolean;
}

/** Something in the environment is missing or malformed. The message names every variable. */
export class WorkerConfigError extends Error {
  override readonly name = 'WorkerConfigError';
}

/** @throws WorkerConfigError */
export function workerConfig(env: Readonly<Record<string, string | undefined>>): WorkerConfig {
  // An empty variable is how compose files and shells write an absent one.
  const given = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = schema.safeParse(given);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `  ${issue.path.join('.')}: ${issue.message}`);
    throw new WorkerConfigError(`The environment of the worker is not right:\n${problems.join('\n')}`);
  }
  const values = parsed.data;
  const profile = PROFILES[values.LONGHAUL_PROFILE];
  return {
    sandboxApi: {
      apiUrl: values.OPEN_SANDBOX_API_URL,
      apiKey: values.OPEN_SANDBOX_API_KEY,
      gatewayUrl: values.OPEN_SANDBOX_GATEWAY_URL ?? null,
      persistence: values.LONGHAUL_PERSISTENCE,
    },
    taskQueue: values.LONGHAUL_TASK_QUEUE,
    store: storeLocation(given),
    watch: { heartbeatTimeoutMs: profile.heartbeatTimeoutMs, sliceMs: SLICE_MS },
    heartbeatThrottleMs: profile.heartbeatThrottleMs,
    maxWatches: values.LONGHAUL_MAX_WATCHES,
    shutdownGraceMs: values.LONGHAUL_SHUTDOWN_GRACE_SECONDS * 1000,
    logLevel: values.LONGHAUL_LOG_LEVEL,
    health: values.LONGHAUL_HEALTH_ADDRESS ?? null,
    metrics: values.LONGHAUL_METRICS_ADDRESS ?? null,
    stopsWithParent: values.LONGHAUL_STOP_WITH_PARENT === '1',
  };
}
