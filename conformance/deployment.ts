/** One deployment under examination: requests to it, and the sandboxes that are made there and must not stay. */

import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { createBody } from '../activities/sandbox-api/create-body.js';
import {
  type CreateRequest,
  connectSandboxApi,
  type Sandbox,
  type SandboxApi,
  type SandboxApiOptions,
} from '../activities/sandbox-api/index.js';
import { AGENT_PORT, type AgentKind, type AgentState, agentEntrypoint, SHOWN_VARIABLE } from './agent.js';

export interface DeploymentOptions extends Pick<SandboxApiOptions, 'apiUrl' | 'apiKey' | 'persistence'> {
  /** Needs a shell, and what the agent runs on. */
  readonly image: string;
  readonly agent: AgentKind;
  readonly storageClass: string;
  /** Where the data plane is, if not where the API says. */
  readonly gatewayUrl?: string;
  /** Ends the examination; what was created is deleted all the same. */
  readonly signal?: AbortSignal;
}

export interface RawReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** Parsed, or `undefined` where it is no JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every shape are looked into
  readonly json: any;
}

/** The sandbox that most checks share. */
export interface Subject {
  readonly id: string;
  readonly created: Sandbox;
  readonly firstState: AgentState;
  readonly createMs: number;
  readonly readyMs: number;
}

/** Deployments take 2 to 90 s for a create or a resume with a volume. */
const SETTLE_TIMEOUT_MS = 120_000;
/** Of the time waited already, so that what is measured is at most so much too long, and hardly anything asked. */
const POLL_SHARE = 0.1;
const POLL_MIN_MS = 5;
const POLL_MAX_MS = 500;
/** Long enough for a create. */
const RAW_TIMEOUT_MS = 150_000;
const LABEL = 'longhaul-conformance';
/** Shown by the agent, so that it is seen to arrive. */
export const SHOWN_VALUE = 'it arrived';

export class Deployment {
  readonly api: SandboxApi;
  readonly signal: AbortSignal | undefined;
  /** On every sandbox of this run. */
  readonly label: Readonly<Record<string, string>> = { [LABEL]: randomBytes(6).toString('hex') };
  readonly #created = new Set<string>();
  readonly #apiUrl: string;
  #serial = 0;
  #subject: Promise<Subject> | undefined;

  constructor(readonly options: DeploymentOptions) {
    this.api = connectSandboxApi(options);
    this.#apiUrl = options.apiUrl.replace(/\/+$/, '');
    this.signal = options.signal;
  }

  /** A request as it is, for what the client hides. @param key `null`: none. */
  async raw(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    { key = this.options.apiKey as string | null, body = undefined as unknown } = {},
  ): Promise<RawReply> {
    return sendRaw(`${this.#apiUrl}${path}`, {
      method,
      headers: key === null ? {} : { 'open-sandbox-api-key': key },
      body,
      signal: this.signal,
    });
  }

  /** What is asked for; a volume of its own for each. */
  createRequest(more: Partial<CreateRequest> = {}): CreateRequest {
    const { image, agent, storageClass } = this.options;
    this.#serial += 1;
    return {
      image,
      entrypoint: agentEntrypoint(agent),
      env: { [SHOWN_VARIABLE]: SHOWN_VALUE },
      resources: { cpu: '500m', memory: '256Mi' },
      persistence: { storageClass, size: '1Gi' },
      volumeName: `longhaul-conformance-${this.label[LABEL]}-${this.#serial}`,
      metadata: this.label,
      ...more,
    };
  }

  async create(more?: Partial<CreateRequest>): Promise<Sandbox> {
    const sandbox = await this.api.create(this.createRequest(more), this.signal);
    this.#created.add(sandbox.id);
    return sandbox;
  }

  /** With fields that the client does not send. */
  async createRaw(fields: Readonly<Record<string, unknown>>): Promise<RawReply> {
    const { persistence } = this.options;
    const body = { ...(createBody(this.createRequest(), persistence) as object), ...fields };
    const reply = await this.raw('POST', '/sandboxes', { body });
    if (typeof reply.json?.id === 'string') this.#created.add(reply.json.id);
    return reply;
  }

  /** Made at its first use. */
  subject(): Promise<Subject> {
    this.#subject ??= this.#makeSubject();
    return this.#subject;
  }

  /** Polls until the agent has answered. @throws Error after the time limit, with the last that was heard. */
  async untilReady(id: string): Promise<AgentState> {
    let last = 'nothing';
    return await this.poll(
      'the agent to answer',
      async () => {
        const answer = await this.read(id, 'state.json', 2000);
        last = answer.kind === 'answer' ? `status ${answer.status}` : answer.kind;
        if (answer.kind !== 'answer' || answer.status !== 200) return undefined;
        return parseState(answer.body);
      },
      () => `last answer: ${last}`,
    );
  }

  /** @returns the state, one of those wanted. */
  async untilState(id: string, ...wanted: readonly string[]): Promise<string> {
    let last = 'none';
    return await this.poll(
      `the state ${wanted.join(' or ')}`,
      async () => {
        last = (await this.api.get(id, this.signal))?.state ?? 'gone';
        return wanted.includes(last) ? last : undefined;
      },
      () => `last state: ${last}`,
    );
  }

  read(id: string, path: string, timeoutMs = 10_000, maxBytes = 2 ** 20) {
    return this.api.readThroughProxy(id, AGENT_PORT, path, {
      maxBytes,
      timeoutMs,
      ...(this.signal && { signal: this.signal }),
    });
  }

  async poll<T>(
    what: string,
    look: () => Promise<T | undefined>,
    saw: () => string,
    timeoutMs = SETTLE_TIMEOUT_MS,
  ): Promise<T> {
    const startedMs = performance.now();
    for (;;) {
      const seen = await look();
      if (seen !== undefined) return seen;
      const waitedMs = performance.now() - startedMs;
      if (waitedMs > timeoutMs) throw new Error(`Waited ${timeoutMs / 1000} s for ${what} (${saw()}).`);
      const pauseMs = Math.min(Math.max(waitedMs * POLL_SHARE, POLL_MIN_MS), POLL_MAX_MS);
      await sleep(pauseMs, undefined, this.signal && { signal: this.signal });
    }
  }

  /**
   * Deletes what was created, also what the API made and did not tell of. Does not heed the signal.
   * @returns IDs of what could not be deleted.
   */
  async cleanUp(): Promise<readonly string[]> {
    const labelled = await this.api.list({ metadata: this.label }).catch(() => []);
    const ids = new Set([...this.#created, ...labelled.map(({ id }) => id)]);
    const left: string[] = [];
    for (const id of ids) if (!(await this.#deleteFor(id))) left.push(id);
    await this.api.close();
    return left;
  }

  async #deleteFor(id: string, tries = 5): Promise<boolean> {
    for (let left = tries; left > 0; left -= 1) {
      try {
        await this.api.delete(id);
        return true;
      } catch {
        await sleep(1000);
      }
    }
    return false;
  }

  async #makeSubject(): Promise<Subject> {
    const startedMs = performance.now();
    const created = await this.create();
    const createMs = performance.now() - startedMs;
    const firstState = await this.untilReady(created.id);
    return { id: created.id, created, firstState, createMs, readyMs: performance.now() - startedMs };
  }
}

function parseState(body: Buffer): AgentState | undefined {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

interface RawRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

export async function sendRaw(url: string, { method, headers, body, signal }: RawRequest): Promise<RawReply> {
  const limit = AbortSignal.timeout(RAW_TIMEOUT_MS);
  const response = await request(url, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    body: body === undefined ? null : JSON.stringify(body),
    signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
  });
  const text = await response.body.text();
  return { status: response.statusCode, headers: response.headers, text, json: parseJson(text) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
