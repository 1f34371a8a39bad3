/**
 * What a back end is: a way to turn an entrypoint into a command line whose first process has the
 * entrypoint's whole world below it. All of them use the same three file descriptors:
 * 3 takes the lines `ready` and `exit N`, 4 is the entrypoint's environment as shell assignments,
 * and 5 is the same file as 3, for tools that report in JSON.
 */

export type BackendName = 'bwrap' | 'unshare' | 'plain';

/** A sandbox's folders and identity, as a back end needs them. */
export interface Place {
  readonly id: string;
  /** Absolute; holds `workspace`, `root`, `image`, `node`, `etc`, `shims`, `ports` and `volume`. */
  readonly home: string;
  /** Absolute; what is mounted at /workspace, and `workspace` is a link to; `null`: `workspace` itself. */
  readonly volume: string | null;
  /** The host's user to become; `null`: stay who we are. */
  readonly uid: number | null;
  /** Root folder that is configured for the image's name; `null`: the host's own. */
  readonly image: string | null;
}

export interface Backend {
  readonly name: BackendName;
  /** Whether the sandbox has namespaces of its own; without them its ports are real ports of the host. */
  readonly isolated: boolean;
  command(place: Place, entrypoint: readonly string[]): string[];
  /** The environment before the one that was asked for. */
  environment(place: Place): Record<string, string>;
}

export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * The last step before the entrypoint. The environment comes from a file and not with spawn: the steps
 * before this one may run as root, and must not obey a PATH or LD_PRELOAD that a request brought along.
 */
export const ENTER = 'echo ready >&3; . /dev/fd/4; exec 3>&- 4<&- 5>&-; exec "$@"';
