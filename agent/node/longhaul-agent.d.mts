/** Types of the agent kit for Node.js. */

export interface AgentOptions {
  /** Port of the checkpoint. Default: `LONGHAUL_PORT`, else 8000. */
  readonly port?: number | undefined;
  /** Folder that outlives a pause. Default: `LONGHAUL_WORKSPACE`, else `/workspace`. */
  readonly workspace?: string | undefined;
  /** How long a drained agent that nobody stops begins no unit. Default: 60,000 ms. */
  readonly drainHoldMs?: number | undefined;
}

export interface Progress<State> {
  /** Units of work that are behind the agent; must not go backwards. */
  readonly step?: number | undefined;
  /** 0 to 1. */
  readonly progress?: number | undefined;
  /** For people; the first 400 characters are kept. */
  readonly message?: string | undefined;
  /** Whatever `restore` shall give to the next start: anything that JSON can hold. */
  readonly state?: State | undefined;
}

export interface AgentQuestion {
  /** Its answer is kept under this ID for good: ask anew under a new one. */
  readonly id: string;
  readonly text: string;
  /** JSON Schema of the answer. */
  readonly schema?: object | undefined;
  readonly [field: string]: unknown;
}

export interface Agent<State = unknown> {
  readonly port: number;
  /** How many times the job's agent has been started, this start included. */
  readonly incarnation: number;
  /** Whether the agent is about to be stopped and should begin nothing new. */
  readonly draining: boolean;
  /** The state of the last checkpoint; `null` before the first one. */
  restore(): State | null;
  /** Resolves when state and progress are on disk, together. What is not given stays as it was. */
  checkpoint(progress?: Progress<State>): Promise<void>;
  /** Resolves with the answer. A question that was answered already, also before a restart, is not asked again. */
  ask(question: AgentQuestion): Promise<unknown>;
  /**
   * Resolves when that time has come; at once if it is over. Keep the date in the state: one that is reckoned
   * from now moves on with every start.
   */
  sleepUntil(date: Date | string | number): Promise<void>;
  /** Work that a drain waits for. Begins later if the agent is draining. @throws whatever `work` throws. */
  unit<T>(work: () => T | Promise<T>): Promise<T>;
  /** The job's end. The result is published until the process is killed, also by later starts. */
  done(result?: unknown): Promise<void>;
  /** The job's failure. Errors that nobody catches come to the same. */
  fail(error: unknown): Promise<void>;
  /** Called on SIGTERM; the process exits when it has resolved, after 5 s at most. */
  onTerminate(work: () => unknown): void;
}

/**
 * Counts this start and serves the checkpoint. Never resolves for a job that is done, but serves on.
 * @throws if the port is taken or the workspace cannot be written.
 */
export function startAgent<State = unknown>(options?: AgentOptions): Promise<Agent<State>>;
