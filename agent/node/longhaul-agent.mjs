#!/usr/bin/env node
/**
 * Longhaul agent kit for Node.js 18 and later: one file without dependencies, copied beside an agent.
 * Serves the agent's checkpoint, answers drain and input, and lets an agent whose process was stopped go on.
 * Everything that the agent is told or says is on disk before it is shown or acknowledged, in one file of the
 * workspace, so that a kill at any instant leaves the state, the answers and the checkpoint of one moment.
 * For commands that know nothing of Longhaul: node longhaul-agent.mjs run -- COMMAND…
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { realpathSync } from 'node:fs';
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** The longest time that a job spec may give a drain. */
const DRAIN_MAX_MS = 600_000;
/** How long work in progress is waited for on SIGTERM; the usual grace before SIGKILL is 10 s or more. */
const TERM_GRACE_MS = 5000;
/** How often a waiting agent looks for the input file, and a sleeping one at the clock. */
const POLL_MS = 1000;
const BODY_MAX_BYTES = 1024 * 1024;

async function syncFolder(path) {
  const folder = await open(path, 'r');
  await folder.sync().finally(() => folder.close());
}

/** Once this returns the file survives a power cut; until then, whoever looks sees the old one or none. */
async function writeDurably(path, text) {
  const file = await open(`${path}.tmp`, 'w');
  await file
    .writeFile(text)
    .then(() => file.sync())
    .finally(() => file.close());
  await rename(`${path}.tmp`, path);
  await syncFolder(dirname(path));
}

/** `undefined` for a file that is not there. */
async function readText(path) {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
}

const now = () => new Date().toISOString();
const isFinal = ({ status }) => status === 'done' || status === 'failed';
/** A copy as JSON has it: without `undefined`, and independent of what the agent does to the original. */
const copy = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));

class Agent {
  #folder;
  #server;
  #incarnation = 0;
  /** What is on disk. `inputs` are all that were ever taken, each with the question that it answers or will. */
  #saved = { checkpoint: { status: 'running' }, state: null, inputs: [] };
  /** What GET /state.json answers: always one whole document. */
  #published;
  #updates = Promise.resolve();
  #asking = Promise.resolve();
  #waiting = new Set();
  #inUnit = new AsyncLocalStorage();
  #units = 0;
  #drains = 0;
  /** On the monotonic clock, which runs on while a sandbox is frozen: once thawed, the agent works again. */
  #heldUntilMs = 0;
  #isEnding = false;
  #terminators = [];

  #holdMs;

  static async start(port, workspace, holdMs) {
    const agent = new Agent();
    agent.#holdMs = holdMs;
    agent.#folder = join(resolve(workspace), '.longhaul');
    // First of all, since a second agent on the same workspace fails here.
    agent.#server = createServer((request, response) => {
      agent.#answer(request, response).catch(() => response.destroy());
    });
    agent.#server.listen(port, '0.0.0.0');
    await once(agent.#server, 'listening');
    await agent.#load();
    agent.#watchProcess();
    console.error(`longhaul-agent: start ${agent.#incarnation}, http://0.0.0.0:${agent.port}/state.json`);
    if (!isFinal(agent.#saved.checkpoint)) return agent;
    // What was done stays done: nothing is left to do but to say so.
    agent.#server.ref();
    return new Promise(() => {});
  }

  get port() {
    return this.#server.address().port;
  }

  get incarnation() {
    return this.#incarnation;
  }

  get draining() {
    return this.#isEnding || this.#drains > 0 || performance.now() < this.#heldUntilMs;
  }

  restore() {
    return copy(this.#saved.state);
  }

  async checkpoint({ step, progress, message, state } = {}) {
    for (const [name, value] of Object.entries({ step, progress })) {
      if (value !== undefined && !Number.isFinite(value))
        throw new TypeError(`${name} must be a number, not ${value}`);
    }
    const share = progress === undefined ? undefined : Math.min(1, Math.max(0, progress));
    await this.#publish({ status: 'running', step, progress: share, message }, state);
  }

  async ask(question) {
    this.#forbidInUnit('ask');
    if (typeof question?.id !== 'string' || typeof question.text !== 'string') {
      throw new TypeError('a question needs a text, and an id by which its answer is known after a restart');
    }
    const answer = this.#asking.then(() => this.#answerTo(question));
    this.#asking = answer.catch(() => {});
    return answer;
  }

  async sleepUntil(date) {
    this.#forbidInUnit('sleepUntil');
    const wakeAtMs = new Date(date).getTime();
    if (Number.isNaN(wakeAtMs)) throw new TypeError(`sleepUntil needs a date, not ${date}`);
    if (wakeAtMs > Date.now()) {
      await this.#publish({ status: 'sleeping', wakeAt: new Date(wakeAtMs).toISOString() });
    }
    while (wakeAtMs > Date.now()) await sleep(Math.min(wakeAtMs - Date.now(), POLL_MS));
    await this.#publish({ status: 'running' });
  }

  async unit(work) {
    // Within a unit nothing is held: the drain waits for the outer one.
    if (this.#inUnit.getStore()) return work();
    while (this.draining) await this.#change(Math.min(POLL_MS, this.#holdMs));
    this.#units += 1;
    try {
      return await this.#inUnit.run(true, work);
    } finally {
      this.#units -= 1;
      this.#notify();
    }
  }

  async done(result) {
    await this.#publish({ status: 'done', progress: 1, result: result ?? null });
    this.#server.ref();
  }

  async fail(error) {
    const fields = { status: 'failed', error: { message: String(error?.message ?? error) } };
    try {
      await this.#publish(fields);
    } catch (cause) {
      if (isFinal(this.#saved.checkpoint)) throw cause;
      // Shown even if it cannot be written, which may be the very failure.
      this.#show(fields);
    }
    this.#server.ref();
  }

  onTerminate(work) {
    this.#terminators.push(work);
  }

  async #load() {
    await mkdir(this.#folder, { recursive: true });
    await syncFolder(dirname(this.#folder));
    const starts = Number(await readText(join(this.#folder, 'incarnation'))) || 0;
    await this.#countStart(Math.max(starts + 1, Number(process.env.LONGHAUL_INCARNATION) || 0));
    const path = join(this.#folder, 'agent.json');
    const text = await readText(path);
    try {
      if (text !== undefined) this.#saved = JSON.parse(text);
    } catch {
      throw new Error(`${path} is not JSON: somebody else has written it; restore or delete it`);
    }
    await this.#update((saved) => {
      const { error, ...checkpoint } = saved.checkpoint;
      // Started again after a failure, the agent tries again.
      return { ...saved, checkpoint: error ? { ...checkpoint, status: 'running' } : checkpoint };
    });
  }

  /** The server alone does not keep the process: an agent that has nothing more to do has failed, unless it said done. */
  #watchProcess() {
    this.#server.unref();
    this.#server.on('connection', (socket) => socket.unref());
    process.on('beforeExit', () => {
      this.#server.ref();
      this.fail('the agent came to its end without saying done or failed').catch(() => {});
    });
    process.on('uncaughtException', (error) => {
      console.error(error);
      this.fail(error).catch(() => {});
    });
    process.once('SIGTERM', () => this.#terminate());
  }

  async #terminate() {
    this.#isEnding = true;
    const graceMs = performance.now() + TERM_GRACE_MS;
    await Promise.race([Promise.allSettled(this.#terminators.map((work) => work())), sleep(TERM_GRACE_MS)]);
    await this.#unitsToEnd(graceMs);
    await this.#updates;
    process.exit(0);
  }

  async #countStart(incarnation) {
    await writeDurably(join(this.#folder, 'incarnation'), String(incarnation));
    this.#incarnation = incarnation;
  }

  #inTurn(work) {
    const turn = this.#updates.then(work);
    this.#updates = turn.catch(() => {});
    return turn;
  }

  /** One after the other: each change is on disk before it is shown, and before the next one begins. */
  #update(change) {
    return this.#inTurn(async () => {
      const changed = change(this.#saved);
      if (changed === this.#saved) return;
      const checkpoint = { ...changed.checkpoint, incarnation: this.#incarnation, updatedAt: now() };
      const saved = { ...changed, checkpoint };
      await writeDurably(join(this.#folder, 'agent.json'), JSON.stringify(saved));
      this.#saved = saved;
      this.#show(checkpoint);
      this.#notify();
    });
  }

  #show(checkpoint) {
    this.#published = JSON.stringify({ incarnation: this.#incarnation, updatedAt: now(), ...checkpoint });
  }

  /** What is not given stays as it is; what belongs to one status alone goes with it. */
  #publish(fields, state) {
    const [given, kept] = [copy(fields), copy(state)];
    return this.#update((saved) => {
      if (isFinal(saved.checkpoint)) throw new Error(`the agent has said ${saved.checkpoint.status} already`);
      const { question, wakeAt, ...checkpoint } = saved.checkpoint;
      return {
        ...saved,
        checkpoint: { ...checkpoint, ...given },
        state: kept === undefined ? saved.state : kept,
      };
    });
  }

  async #answerTo(question) {
    const answer = () => this.#saved.inputs.find((input) => input.question === question.id);
    for (let asked = false; !answer(); asked = true) {
      if (asked) await this.#change(POLL_MS);
      await this.#readInputFile();
      // An input that came before any question, and names none, answers the first one.
      await this.#update((saved) => {
        const early = saved.inputs.find((input) => input.question === null);
        if (answer() || !early) return saved;
        return {
          ...saved,
          inputs: saved.inputs.map((input) =>
            input === early ? { ...early, question: question.id } : input,
          ),
        };
      });
      if (!asked && !answer()) await this.#publish({ status: 'waiting', question });
    }
    return copy(answer().value);
  }

  /** An input is taken once, and kept for the question that it answers. */
  #take({ id, question = null, value = null }) {
    return this.#update((saved) => {
      if (saved.inputs.some((input) => input.id === id)) return saved;
      const { question: open, ...rest } = saved.checkpoint;
      const answered = question ?? open?.id ?? null;
      const isOpen = open !== undefined && answered === open.id;
      return {
        ...saved,
        checkpoint: { ...(isOpen ? { ...rest, status: 'running' } : saved.checkpoint), inputId: id },
        inputs: [...saved.inputs, { id, question: answered, value }],
      };
    });
  }

  /** The file stays, since another may take its place at any time: its ID tells that it was taken. */
  async #readInputFile() {
    const text = await readText(join(this.#folder, 'input.json'));
    let input;
    try {
      input = JSON.parse(text);
    } catch {
      return; // Not there, or not whole yet.
    }
    if (typeof input?.id === 'string' && input.id !== '') await this.#take(input);
  }

  /** Resolves at the next change, or after so long. */
  async #change(timeoutMs) {
    const change = new AbortController();
    this.#waiting.add(change);
    await sleep(timeoutMs, undefined, { signal: change.signal }).catch(() => {});
    this.#waiting.delete(change);
  }

  #notify() {
    for (const change of this.#waiting) change.abort();
  }

  #forbidInUnit(name) {
    if (this.#inUnit.getStore()) throw new Error(`${name} within a unit: a drain would wait for it in vain`);
  }

  async #unitsToEnd(deadlineMs) {
    while (this.#units > 0 && performance.now() < deadlineMs)
      await this.#change(deadlineMs - performance.now());
    return this.#units === 0;
  }

  async #answer(request, response) {
    const { method, url, headers } = request;
    const send = (status, body = '') => {
      response
        .writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
        .end(body);
    };
    const refuse = (status, error) => send(status, JSON.stringify({ error }));
    const route = `${method} ${url.split('?')[0]}`;
    if (this.#published === undefined) return refuse(404, 'the agent has just been started');
    if (route === 'GET /state.json') return send(200, this.#published);
    const body = await readBody(request);
    if (body === undefined) return refuse(413, `the body is larger than ${BODY_MAX_BYTES} bytes`);
    await this.#learnIncarnation(Number(headers['longhaul-incarnation']));
    if (route === 'POST /drain') {
      if (await this.#drain()) return send(200, this.#published);
      return refuse(503, 'a unit of work does not end');
    }
    if (route === 'POST /input') {
      let input;
      try {
        input = { id: headers['longhaul-input-id'], ...JSON.parse(body) };
      } catch {
        return refuse(400, 'the body is not JSON');
      }
      if (typeof input.id !== 'string' || input.id === '') return refuse(400, 'the input has no id');
      await this.#take(input);
      return send(200, this.#published);
    }
    if (route === 'POST /nudge') return send(204);
    refuse(404, 'there are GET /state.json, POST /drain, POST /input and POST /nudge');
  }

  /** The orchestrator counts starts that the workspace knows nothing of, as when it was restored from a copy. */
  async #learnIncarnation(told) {
    if (!Number.isSafeInteger(told) || told <= this.#incarnation) return;
    await this.#inTurn(() => this.#countStart(told));
    await this.#update((saved) => ({ ...saved }));
  }

  async #drain() {
    this.#drains += 1;
    const hasEnded = await this.#unitsToEnd(performance.now() + DRAIN_MAX_MS);
    await this.#updates;
    this.#heldUntilMs = performance.now() + this.#holdMs;
    this.#drains -= 1;
    return hasEnded;
  }
}

/** `undefined` for a body that is too large. */
async function readBody(request) {
  const chunks = [];
  let sizeBytes = 0;
  for await (const chunk of request) {
    sizeBytes += chunk.length;
    if (sizeBytes <= BODY_MAX_BYTES) chunks.push(chunk);
  }
  if (sizeBytes <= BODY_MAX_BYTES) return Buffer.concat(chunks).toString('utf8');
}

/** See longhaul-agent.d.mts. */
export function startAgent({ port, workspace, drainHoldMs = 60_000 } = {}) {
  const { LONGHAUL_PORT, LONGHAUL_WORKSPACE } = process.env;
  const folder = workspace ?? LONGHAUL_WORKSPACE ?? '/workspace';
  return Agent.start(port ?? Number(LONGHAUL_PORT ?? 8000), folder, drainHoldMs);
}

const USAGE = 'usage: node longhaul-agent.mjs run [--port N] [--progress REGEX] [--result FILE] -- COMMAND…';
/** Longest part of a command's output that is shown; an orchestrator keeps no more. */
const OUTPUT_MAX_CHARS = 400;
/** How long a command's death by a signal may be the beginning of this process's own. */
const SIGNAL_GRACE_MS = 2000;

/** How far a line says that the command is: a share such as 0.4, a percentage, or "3/7" (also as two groups). */
function progressIn(line, pattern) {
  const match = pattern.exec(line);
  if (!match?.[1]) return undefined;
  const [part, whole] = match[2] === undefined ? match[1].split('/') : [match[1], match[2]];
  const number = Number.parseFloat(part);
  const isPercent = part.endsWith('%') || line[match.indices[1][1]] === '%' || number > 1;
  const share = whole === undefined ? number / (isPercent ? 100 : 1) : number / Number.parseFloat(whole);
  return Number.isFinite(share) ? share : undefined;
}

/** Runs a command to its end and speaks for it. A restart runs it again, unless it had ended well. */
async function run(agent, [program, ...args], pattern, resultFile) {
  const env = { ...process.env, LONGHAUL_INCARNATION: String(agent.incarnation) };
  // A process group of its own, so that all parts of a pipeline can be told to end.
  const child = spawn(program, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'], env });
  const ended = new Promise((resolve) => {
    child.once('error', (error) => resolve({ why: `could not be started: ${error.message}` }));
    child.once('exit', (code, signal) => {
      resolve({ code, signal, why: signal ? `was ended by ${signal}` : `ended with exit code ${code}` });
    });
  });
  const closed = once(child, 'close').catch(() => {});
  let isTerminated = false;
  agent.onTerminate(async () => {
    isTerminated = true;
    if (child.pid === undefined) return;
    process.kill(-child.pid, 'SIGTERM');
    // Closed by the last part that ends, which need not be the first process.
    await Promise.race([closed, sleep(TERM_GRACE_MS - 500)]);
    process.kill(-child.pid, 'SIGKILL');
  });

  let lines = [];
  let progress;
  let isNew = false;
  const note = (line) => {
    if (line.trim() === '') return;
    progress = (pattern && progressIn(line, pattern)) ?? progress;
    lines = [...lines, line].slice(-3);
    isNew = true;
  };
  const output = () => lines.join('\n').slice(-OUTPUT_MAX_CHARS);
  const report = async () => {
    if (!isNew || isTerminated) return;
    isNew = false;
    await agent.checkpoint({ progress, message: output() });
  };
  const reading = setInterval(report, 1000);
  for (const [from, to] of [
    [child.stdout, process.stdout],
    [child.stderr, process.stderr],
  ]) {
    let rest = '';
    from.setEncoding('utf8').on('data', (text) => {
      to.write(text);
      // Bars of progress return the carriage instead of ending the line.
      const parts = (rest + text).split(/[\r\n]+/);
      rest = parts.pop().slice(-65_536);
      parts.forEach(note);
    });
    from.once('end', () => note(rest));
  }
  const { code, signal, why } = await ended;
  // What a command left running may keep its output open for ever.
  await Promise.race([closed, sleep(1000)]);
  clearInterval(reading);
  if (signal || code > 128) await sleep(SIGNAL_GRACE_MS);
  // The orchestrator ends both; how the command took it says nothing about its work.
  if (isTerminated) return;
  await report();
  if (code !== 0) return agent.fail(`the command ${why}${lines.length > 0 ? `: ${output()}` : ''}`);
  if (resultFile === undefined) return agent.done({ exitCode: 0, output: output() });
  const text = await readText(resultFile);
  if (text === undefined)
    return agent.fail(`the command ended well, but its result ${resultFile} is not there`);
  let result = text;
  try {
    result = JSON.parse(text);
  } catch {}
  await agent.done(result);
}

/** Throws what is wrong with the command line, for a person to read. */
function readArguments(argv) {
  const end = argv.indexOf('--');
  const command = argv.slice(end + 1);
  const flags = new Map();
  for (let index = 1; index < end; index += 2) flags.set(argv[index], argv[index + 1]);
  const isKnown = [...flags.keys()].every((flag) => ['--port', '--progress', '--result'].includes(flag));
  if (argv[0] !== 'run' || end % 2 !== 1 || command.length === 0 || !isKnown) throw new Error(USAGE);
  const progress = flags.get('--progress');
  if (progress !== undefined && new RegExp(`${progress}|`).exec('').length < 2) {
    throw new Error('--progress needs a group, such as "([0-9]+)%"');
  }
  const pattern = progress === undefined ? undefined : new RegExp(progress, 'd');
  const port = flags.has('--port') ? Number(flags.get('--port')) : undefined;
  return { command, pattern, port, resultFile: flags.get('--result') };
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  let asked;
  try {
    asked = readArguments(process.argv.slice(2));
  } catch (error) {
    console.error(`longhaul-agent: ${error.message}`);
    process.exit(2);
  }
  await run(await startAgent({ port: asked.port }), asked.command, asked.pattern, asked.resultFile);
}
