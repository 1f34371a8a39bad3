/** Decides which Temporal service is meant. */

import { accessSync } from 'node:fs';
import type { TLSConfig } from '@temporalio/client';
import { type ClientConnectConfig, loadClientConnectConfig } from '@temporalio/envconfig';
import { DEFAULT_TASK_QUEUE } from '../contract/messages.js';
import { type Environment, readDevSession, underEnvironment } from './dev-session.js';
import { LonghaulError } from './errors.js';

/** How to reach the Temporal service; fits `Connection` as well as a worker's `NativeConnection`. */
export interface ConnectionSettings {
  readonly address: string;
  readonly tls?: TLSConfig | boolean;
  readonly apiKey?: string;
  readonly metadata?: Record<string, string>;
}

/** All absent: everything is found as `connectionConfig` says. */
export interface ConnectOptions {
  /** `HOST:PORT` of the Temporal service. */
  readonly address?: string;
  /** @default 'default' */
  readonly namespace?: string;
  /** Where new jobs are queued; `longhaul worker` must listen to the same. @default 'longhaul' */
  readonly taskQueue?: string;
  /** Turns TLS on, unless `tls` says otherwise. */
  readonly apiKey?: string;
  readonly tls?: TLSConfig | boolean;
  /** @default process.env */
  readonly env?: Environment;
}

export interface ConnectionConfig {
  readonly connection: ConnectionSettings;
  readonly namespace: string;
  readonly taskQueue: string;
  /** Who named the address. */
  readonly source: 'options' | 'environment' | 'dev-session';
  /** The environment, over that of a running `longhaul dev` where that is what is used. */
  readonly env: Environment;
  /** Settings that were found but have no effect, in words. */
  readonly warnings: readonly string[];
}

/**
 * Finds the Temporal service, in this order:
 * 1. `options.address`, with the other options;
 * 2. the `TEMPORAL_*` variables and the profile of Temporal's own TOML file, when they name an address
 *    (variables win over the file; options win over both);
 * 3. the `longhaul dev` that runs on this machine: its address and task queue, without TLS or keys.
 * The task queue is `options.taskQueue`, else `LONGHAUL_TASK_QUEUE`, else that of `longhaul dev`, else `longhaul`.
 * @throws LonghaulError TEMPORAL_UNREACHABLE when nobody names a service, or the configuration cannot be read.
 */
export function connectionConfig(env: Environment, options: ConnectOptions = {}): ConnectionConfig {
  const { profile, warnings } = readProfile(env);
  const {
    address: profileAddress,
    apiKey: profileApiKey,
    tls: profileTls,
    metadata,
  } = profile.connectionOptions;
  const address = options.address ?? profileAddress;
  const namespace = options.namespace ?? profile.namespace ?? 'default';

  if (address !== undefined) {
    const apiKey = options.apiKey ?? (profileApiKey as string | undefined);
    const tls = options.tls ?? profileTls ?? (apiKey === undefined ? undefined : true);
    return {
      connection: {
        address,
        ...(tls === undefined || tls === null ? {} : { tls }),
        ...(apiKey === undefined ? {} : { apiKey }),
        ...(metadata === undefined ? {} : { metadata: metadata as Record<string, string> }),
      },
      namespace,
      taskQueue: options.taskQueue ?? (env.LONGHAUL_TASK_QUEUE || DEFAULT_TASK_QUEUE),
      source: options.address === undefined ? 'environment' : 'options',
      env,
      warnings,
    };
  }

  const session = readDevSession(env);
  if (session === null) {
    throw new LonghaulError('TEMPORAL_UNREACHABLE', 'No Temporal service is known.', {
      remedy:
        'start everything on this machine with `longhaul dev`, or set TEMPORAL_ADDRESS (and TEMPORAL_NAMESPACE, ' +
        "TEMPORAL_API_KEY), or name an address in a profile of Temporal's configuration file (TEMPORAL_PROFILE)",
    });
  }
  return {
    connection: { address: session.temporal.address },
    namespace,
    taskQueue: options.taskQueue ?? (env.LONGHAUL_TASK_QUEUE || session.taskQueue),
    source: 'dev-session',
    env: underEnvironment(session, env),
    warnings,
  };
}

/** Variables that @temporalio/envconfig 1.24 parses and then drops. */
const WITHOUT_EFFECT = [
  'TEMPORAL_TLS_DISABLE_HOST_VERIFICATION',
  'TEMPORAL_CODEC_ENDPOINT',
  'TEMPORAL_CODEC_AUTH',
];

/** Temporal's own configuration, with what goes wrong in @temporalio/envconfig 1.24 set right. */
function readProfile(env: Environment): { profile: ClientConnectConfig; warnings: string[] } {
  // An empty variable is how compose files and shells write an absent one; an empty API key would turn TLS on.
  const set = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && (entry[1] !== '' || isGrpcMeta(entry[0])),
  );
  const overrideEnvVars = Object.fromEntries(set);
  // Only `1` and `true` in this spelling are understood; all else means off.
  const tls = overrideEnvVars.TEMPORAL_TLS?.trim().toLowerCase();
  if (tls !== undefined) {
    overrideEnvVars.TEMPORAL_TLS = ['1', 'true', 'yes', 'on'].includes(tls) ? 'true' : 'false';
  }
  const warnings = WITHOUT_EFFECT.filter((name) => name in overrideEnvVars).map(
    (name) => `${name} has no effect here.`,
  );
  const file = overrideEnvVars.TEMPORAL_CONFIG_FILE ?? "Temporal's configuration file";
  try {
    // A file that is named but missing would be passed over in silence.
    if (overrideEnvVars.TEMPORAL_CONFIG_FILE !== undefined) accessSync(file);
    return { profile: loadClientConnectConfig({ overrideEnvVars }), warnings };
  } catch (error) {
    // A file without any [profile.…] is not expected there.
    if (error instanceof TypeError && overrideEnvVars.TEMPORAL_PROFILE === undefined) {
      warnings.push(`${file} has no [profile.default] and was not used.`);
      return { profile: loadClientConnectConfig({ overrideEnvVars, disableFile: true }), warnings };
    }
    const why =
      error instanceof TypeError
        ? `profile "${overrideEnvVars.TEMPORAL_PROFILE}" is not in it`
        : error instanceof Error
          ? error.message.trim()
          : String(error);
    throw new LonghaulError('TEMPORAL_UNREACHABLE', `${file} cannot be used: ${why}`, {
      remedy: 'correct the file, or the TEMPORAL_* variable that names it, its profile or a certificate',
      cause: error,
    });
  }
}

/** There, and only there, an empty value has a meaning: it removes the key. */
function isGrpcMeta(name: string): boolean {
  return name.startsWith('TEMPORAL_GRPC_META_');
}
