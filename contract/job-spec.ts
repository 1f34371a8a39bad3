/**
 * The job spec after it has been checked: every default filled in, every duration in ms.
 * `job-spec.schema.ts` makes it from what people write; everything behind the edge trusts it.
 */

/** A text file that the agent finds in its workspace. It is written once and never overwritten on resume. */
export interface WorkspaceFile {
  /** Absolute path below `/workspace/`. */
  readonly path: string;
  readonly content: string;
}

/** A volume at `/workspace` that outlives a pause. */
export interface Persistence {
  readonly storageClass: string;
  /** Kubernetes quantity, e.g. `5Gi`. */
  readonly size: string;
}

export interface SandboxSpec {
  readonly image: string;
  readonly entrypoint: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly files: readonly WorkspaceFile[];
  /** Kubernetes quantities, e.g. `cpu: "500m"`, `memory: "512Mi"`. */
  readonly resources: { readonly cpu: string; readonly memory: string };
  /** `null`: the workspace is gone with every pause. */
  readonly persistence: Persistence | null;
}

export interface CheckpointSpec {
  /** Port inside the sandbox at which the agent publishes its checkpoint. */
  readonly port: number;
  /** Path of the checkpoint document, without a leading slash. */
  readonly path: string;
  /** Time between two reads of the checkpoint. */
  readonly everyMs: number;
  /** A checkpoint that has not changed for so long counts as stalled. */
  readonly stallAfterMs: number;
}

export interface JobSpec {
  /** The job's ID and its workflow ID; `null` lets the client choose one. */
  readonly id: string | null;
  readonly sandbox: SandboxSpec;
  readonly checkpoint: CheckpointSpec;
}
