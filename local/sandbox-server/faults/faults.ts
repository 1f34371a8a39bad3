/** The rules that are in force, and which of them strike a request. */

import { History } from './history.js';
import { chance, randomSeed } from './random.js';
import { type Fault, type FaultRule, type Match, parseFaultRequest, patternOf } from './rule.js';

/** What a request wants, as far as faults tell requests apart. */
export type Operation =
  | 'create'
  | 'list'
  | 'get'
  | 'pause'
  | 'resume'
  | 'proxy'
  | 'other-of-sandbox'
  | 'other';

export interface Call {
  readonly operation: Operation;
  readonly method: string;
  /** Without query and `/v1`. */
  readonly path: string;
  readonly sandboxId: string | null;
  /** Of the sandbox, of the one to be created, or of those that are asked for. */
  readonly labels: Readonly<Record<string, string>>;
}

interface Armed extends FaultRule {
  readonly id: number;
  readonly pattern: RegExp | null;
  readonly fromMs: number;
  readonly untilMs: number;
  /** Requests that fit while it is in force, and those of them that chance let it strike. */
  matches: number;
  strikes: number;
}

/** Kinds that mean something for some requests only. */
const OPERATIONS: Partial<Record<Fault['kind'], readonly Operation[]>> = {
  stale: ['get', 'list'],
  'pause-falls-back': ['pause'],
  pausing: ['pause'],
  'resume-ignored': ['resume'],
  pending: ['create', 'resume'],
  'lost-sandbox': ['get', 'pause', 'resume', 'proxy', 'other-of-sandbox'],
  'lost-volume': ['get', 'pause', 'resume', 'proxy', 'other-of-sandbox'],
};

export class Faults {
  readonly history = new History();
  #seed = randomSeed();
  #rules: Armed[] = [];
  #lastId = 0;

  /** @throws RequestShapeError */
  add(body: unknown): void {
    const { seed, rules } = parseFaultRequest(body);
    if (seed !== undefined) this.#seed = seed;
    this.#rules.push(...rules.map((rule) => this.#arm(rule)));
  }

  /** Rules are numbered from 1 again: with the same seed, the same rules decide the same. */
  clear(): void {
    this.#rules = [];
    this.#lastId = 0;
  }

  /** For people, and for a run that is to be repeated. */
  describe() {
    const rules = this.#rules.map(({ pattern: _, fromMs, untilMs, from: __, until: ___, ...rule }) => ({
      ...rule,
      ...(fromMs === Number.NEGATIVE_INFINITY ? {} : { from: new Date(fromMs).toISOString() }),
      ...(untilMs === Number.POSITIVE_INFINITY ? {} : { until: new Date(untilMs).toISOString() }),
    }));
    return { seed: this.#seed, rules };
  }

  /**
   * The faults for this request in the order of their rules, each with what it selects; up to the first
   * that ends the request before anything else could happen.
   */
  strike(call: Call): { readonly fault: Fault; readonly match: Match }[] {
    const struck: { fault: Fault; match: Match }[] = [];
    for (const rule of this.#rules) {
      if (!this.#strikes(rule, call)) continue;
      const { fault, match } = rule;
      struck.push({ fault, match });
      if ((fault.kind === 'status' || fault.kind === 'drop') && fault.when === 'before') break;
    }
    return struck;
  }

  #arm(rule: FaultRule): Armed {
    const { match, from, until } = rule;
    const toMs = (instant: string | number) =>
      typeof instant === 'number' ? Date.now() + instant : Date.parse(instant);
    return {
      ...rule,
      id: ++this.#lastId,
      pattern: match.path === undefined ? null : patternOf(match.path),
      fromMs: from === undefined ? Number.NEGATIVE_INFINITY : toMs(from),
      untilMs: until === undefined ? Number.POSITIVE_INFINITY : toMs(until),
      matches: 0,
      strikes: 0,
    };
  }

  #strikes(rule: Armed, call: Call): boolean {
    const { fault, match, pattern, fromMs, untilMs, count, probability } = rule;
    const operations = OPERATIONS[fault.kind];
    if (operations !== undefined && !operations.includes(call.operation)) return false;
    if (match.method !== undefined && match.method !== call.method) return false;
    if (pattern !== null && !pattern.test(call.path)) return false;
    if (!(call.operation === 'list' && isOfItems(fault)) && !selects(match, call.sandboxId, call.labels))
      return false;
    const nowMs = Date.now();
    if (nowMs < fromMs || nowMs >= untilMs || (count !== undefined && rule.strikes >= count)) return false;
    rule.matches += 1;
    if (chance(this.#seed, rule.id, rule.matches) >= probability) return false;
    rule.strikes += 1;
    return true;
  }
}

/** Whether a rule is about this sandbox. */
export function selects(
  { sandboxId, metadata = {} }: Match,
  id: string | null,
  labels: Readonly<Record<string, string>>,
): boolean {
  if (sandboxId !== undefined && sandboxId !== id) return false;
  return Object.entries(metadata).every(([key, value]) => labels[key] === value);
}

/** In a list such a fault is about the items that it selects, and not about the request. */
function isOfItems({ kind }: Fault): boolean {
  return kind === 'stale' || kind === 'clock-skew';
}
