/**
 * Audits the image it runs in: reads every file below ROOTS, and says what is there, with digests.
 *
 * Work is cut into groups, once. A finished group is a file in the workspace, and that file alone decides
 * whether the group is done, so the process may be killed at any instant without losing or doubling a file.
 * The checkpoint is shown to others only after it is on disk, so it never goes backwards.
 *   plan.json  ->  groups/000000.jsonl, groups/000001.jsonl, …  ->  report.json
 */

import { createHash } from 'node:crypto';
import { constants, existsSync } from 'node:fs';
import { lstat, mkdir, open, readdir, readFile, realpath, rename } from 'node:fs/promises';
import { createServer } from 'node:http';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const workspace = resolve(process.env.WORKSPACE || '/workspace');
const inWorkspace = (...names) => join(workspace, ...names);
const sum = (items, numberOf) => items.reduce((total, item) => total + numberOf(item), 0);
/** Not part of the image: made by the kernel, and by this agent itself. */
const EXCLUDED = ['/proc', '/sys', '/dev', workspace];
const GROUP_MAX_BYTES = 16 * 2 ** 20;

function wholeNumber(name, otherwise) {
  const text = process.env[name] || String(otherwise);
  if (/^\d{1,16}$/.test(text)) return Number(text);
  throw new Error(`${name} is "${text}"; it must be a whole number such as 3`);
}

/** Once this returns the file survives a power cut; until then, whoever looks sees the old one or none. */
async function writeDurably(path, content) {
  const file = await open(`${path}.tmp`, 'w');
  await file
    .writeFile(content)
    .then(() => file.sync())
    .finally(() => file.close());
  await rename(`${path}.tmp`, path);
  const folder = await open(dirname(path), 'r');
  await folder.sync().finally(() => folder.close());
}

async function readJson(path) {
  if (existsSync(path)) return JSON.parse(await readFile(path, 'utf8'));
}

/** What GET /state.json answers: always one whole document. */
let published;
let step = 0; // finished groups
let runs = 0; // starts of this agent on this workspace

async function publish(fields) {
  const state = { ...fields, step, incarnation: runs, updatedAt: new Date().toISOString() };
  const document = Buffer.from(JSON.stringify(state));
  // Shown even if it cannot be written, which may be the very failure.
  if (fields.status === 'failed') published = document;
  await writeDurably(inWorkspace('state.json'), document);
  published = document;
}

/** Which files there are, and in which groups: decided once, so that every later start goes on with the same. */
async function loadPlan(roots, depth, groupFiles) {
  await mkdir(inWorkspace('groups'), { recursive: true });
  runs = ((await readJson(inWorkspace('runs.json'))) ?? 0) + 1;
  await writeDurably(inWorkspace('runs.json'), String(runs));
  const stored = await readJson(inWorkspace('plan.json'));
  const nameOf = (plan) => `ROOTS=${plan.roots.join(':')} and DEPTH=${plan.depth}`;
  if (stored && nameOf(stored) !== nameOf({ roots, depth }))
    throw new Error(`the workspace holds an audit of ${nameOf(stored)}; restore these, or empty it`);
  if (stored) return stored;
  await publish({ status: 'running', progress: 0, message: `looking for files below ${roots.join(', ')}` });
  const found = { sizes: new Map(), links: new Set(), unreadable: new Map() };
  // Where /bin is a link to /usr/bin, that folder is walked once.
  const folders = new Set();
  for (const root of roots) {
    const folder = await realpath(root).catch((error) => noteUnreadable(found, root, error));
    if (folder) folders.add(folder);
  }
  if (folders.size === 0) throw new Error(`none of ROOTS=${roots.join(':')} is there; name other folders`);
  for (const folder of folders) await walk(folder, depth, found);
  const groups = cutGroups(found.sizes, groupFiles);
  const plan = { roots, depth, links: found.links.size, unreadable: [...found.unreadable.values()], groups };
  await writeDurably(inWorkspace('plan.json'), JSON.stringify(plan));
  return plan;
}

function noteUnreadable({ unreadable }, path, { code }) {
  // A name that is not UTF-8 arrives garbled, so nothing is found under the name that is asked for.
  if (code !== 'ENOENT' || path.includes('\ufffd')) unreadable.set(path, { path, unreadable: code });
}

/** @param depth how many levels of folders below this one are entered. */
async function walk(folder, depth, found) {
  if (EXCLUDED.includes(folder)) return;
  const listing = readdir(folder, { withFileTypes: true });
  const entries = await listing.catch((error) => noteUnreadable(found, folder, error));
  for (const entry of entries ?? []) {
    const path = join(folder, entry.name);
    if (entry.isSymbolicLink()) found.links.add(path);
    else if (entry.isDirectory() && depth > 0) await walk(path, depth - 1, found);
    else if (entry.isFile()) {
      const stats = await lstat(path).catch((error) => noteUnreadable(found, path, error));
      if (stats !== undefined) found.sizes.set(path, stats.size);
    }
  }
}

function cutGroups(sizes, groupFiles) {
  const groups = [];
  for (const path of [...sizes.keys()].sort()) {
    const last = groups.at(-1);
    const bytes = sizes.get(path);
    if (last && last.paths.length < groupFiles && last.bytes + bytes <= GROUP_MAX_BYTES) {
      last.paths.push(path);
      last.bytes += bytes;
    } else groups.push({ file: `${String(groups.length).padStart(6, '0')}.jsonl`, paths: [path], bytes });
  }
  return groups;
}

const chunk = Buffer.allocUnsafe(256 * 1024);

/** One record of a group. Whatever is wrong with a file is said in it; the audit goes on. */
async function auditFile(path) {
  let file;
  try {
    // Since the plan it may have become a link, which is not followed, or a pipe, which is not waited for.
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stats = await file.stat();
    if (!stats.isFile()) return { path, vanished: true };
    const hash = createHash('sha256');
    let size = 0;
    let kind = {};
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, chunk.length, size);
      if (bytesRead === 0) break;
      const bytes = chunk.subarray(0, bytesRead);
      if (size === 0) kind = kindOf(bytes);
      hash.update(bytes);
      size += bytesRead;
    }
    const bits = { setuid: (stats.mode & 0o4000) !== 0, setgid: (stats.mode & 0o2000) !== 0 };
    return { path, size, sha256: hash.digest('hex'), ...bits, ...kind };
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(error.code)) return { path, vanished: true };
    return { path, unreadable: error.code };
  } finally {
    await file?.close();
  }
}

const ELF_KINDS = { 1: 'relocatable', 2: 'executable', 3: 'shared object' };
const ELF_MACHINES = { 3: 'x86', 40: 'arm', 62: 'x86-64', 183: 'aarch64', 243: 'riscv' };

/** @param head the first bytes of a file, which may claim to be anything. */
function kindOf(head) {
  const interpreter = /^#![ \t]*(\/[^\n\0]*)/.exec(head.toString('utf8', 0, 256))?.[1].trim();
  if (interpreter !== undefined) return { interpreter };
  if (head.length < 64 || head.readUInt32BE(0) !== 0x7f454c46) return {};
  const bits = head[4] === 2 ? 64 : 32;
  const view = new DataView(head.buffer, head.byteOffset, head.length);
  const u16 = (at) => view.getUint16(at, head[5] !== 2);
  const u32 = (at) => view.getUint32(at, head[5] !== 2);
  let kind = ELF_KINDS[u16(16)] ?? 'other';
  // Most programs look like a library, but they ask for a loader: a program header of type 3.
  const [headers, size, count] =
    bits === 64 ? [u32(head[5] === 2 ? 36 : 32), u16(54), u16(56)] : [u32(28), u16(42), u16(44)];
  for (let index = 0; index < count && headers + index * size + 4 <= head.length; index += 1) {
    if (u32(headers + index * size) === 3) kind = 'executable';
  }
  return { elf: { kind, bits, machine: ELF_MACHINES[u16(18)] ?? `machine ${u16(18)}` } };
}

/** Depends on the plan and the groups alone: the same image gives the same bytes, however often interrupted. */
async function makeReport(plan) {
  const records = [];
  for (const { file, paths } of plan.groups) {
    const lines = (await readFile(inWorkspace('groups', file), 'utf8')).trimEnd();
    const group = lines.split('\n').map((line) => JSON.parse(line));
    if (group.map(({ path }) => path).join('\n') !== paths.join('\n'))
      throw new Error(`groups/${file} does not fit plan.json; delete it and start the agent again`);
    for (const record of group) records.push(record);
  }
  const files = records.filter(({ sha256 }) => sha256);
  const vanished = records.filter((record) => record.vanished).map(({ path }) => path);
  const unreadable = [...plan.unreadable, ...records.filter((record) => record.unreadable)];
  const count = (property) => files.filter((file) => file[property]).length;
  const read = { files: files.length, bytes: sum(files, ({ size }) => size), links: plan.links };
  const kinds = { elf: count('elf'), scripts: count('interpreter') };
  const bits = { setuid: count('setuid'), setgid: count('setgid') };
  const totals = { ...read, ...kinds, ...bits, unreadable: unreadable.length, vanished: vanished.length };
  return { roots: plan.roots, depth: plan.depth, totals, files, unreadable, vanished };
}

/** Over path, size and SHA-256 of every counted file, so that anybody can check it against a walk of their own. */
function digestOfFiles(files) {
  const lines = files.map(({ path, size, sha256 }) => `${path}\0${size}\0${sha256}\n`);
  return `sha256:${createHash('sha256').update(lines.sort().join('')).digest('hex')}`;
}

function summarize({ totals, files }, reportDigest) {
  const byDigest = new Map();
  const programs = new Map();
  for (const { path, size, sha256, interpreter } of files) {
    const { copies = 0, example = path } = byDigest.get(sha256) ?? {};
    byDigest.set(sha256, { sha256, size, copies: copies + 1, wastedBytes: size * copies, example });
    if (!interpreter) continue;
    const words = interpreter.split(/\s+/).map((word) => basename(word));
    const program = words.find((word) => word !== 'env' && !/^-|=/.test(word)) ?? 'env';
    programs.set(program, (programs.get(program) ?? 0) + 1);
  }
  const copied = [...byDigest.values()].filter(({ wastedBytes }) => wastedBytes > 0);
  copied.sort((a, b) => b.wastedBytes - a.wastedBytes);
  const largest = [...files].sort((a, b) => b.size - a.size).slice(0, 10);
  const setuid = files.filter((file) => file.setuid).slice(0, 50);
  const wastedBytes = sum(copied, (same) => same.wastedBytes);
  const summary = {
    totals,
    runs,
    reportDigest,
    filesDigest: digestOfFiles(files),
    setuid: setuid.map(({ path }) => path),
    largest: largest.map(({ path, size }) => ({ path, size })),
    duplicates: { groups: copied.length, wastedBytes, top: copied.slice(0, 10) },
    interpreters: Object.fromEntries([...programs].sort((a, b) => b[1] - a[1]).slice(0, 20)),
  };
  // A workflow history keeps it, and paths can be 4 KiB long: at most 8 KiB in all.
  for (const list of [summary.setuid, summary.duplicates.top, summary.largest]) {
    while (list.length > 0 && Buffer.byteLength(JSON.stringify(summary)) > 8192) list.pop();
  }
  return summary;
}

/** The piece of work that is not to be cut in two: a drain is answered when it has ended. */
let atWork = Promise.resolve();
const work = (promise) => (atWork = promise);
let drainHoldMs = 0;
/** On the monotonic clock, which runs on while a sandbox is frozen: once thawed, the agent works again. */
let heldUntilMs = 0;

async function rest(paceMs) {
  const pacedUntilMs = performance.now() + paceMs;
  const leftMs = () => Math.max(pacedUntilMs, heldUntilMs) - performance.now();
  while (leftMs() > 0) await sleep(Math.min(leftMs(), 50));
}

async function audit() {
  const roots = (process.env.ROOTS || '/usr/bin:/usr/sbin:/usr/lib:/usr/libexec').match(/[^:]+/g) ?? [];
  const paceMs = wholeNumber('PACE_MS', 0);
  drainHoldMs = wholeNumber('DRAIN_HOLD_MS', 60_000);
  const plan = await work(loadPlan(roots, wholeNumber('DEPTH', 4096), wholeNumber('GROUP_FILES', 100)));
  const { groups } = plan;
  const finished = new Set(await readdir(inWorkspace('groups')));
  const publishProgress = () => {
    const done = groups.filter(({ file }) => finished.has(file));
    const next = groups.find(({ file }) => !finished.has(file))?.paths[0] ?? 'the report';
    const [n, of] = [done, groups].map((some) => sum(some, ({ paths }) => paths.length).toLocaleString('en'));
    const progress = sum(done, ({ bytes }) => bytes) / (sum(groups, ({ bytes }) => bytes) || 1);
    step = done.length;
    const message = `${n} of ${of} files; now ${next.slice(0, 200)}`;
    return publish({ status: 'running', progress, message });
  };
  const finishGroup = async ({ file, paths }) => {
    let lines = '';
    for (const path of paths) lines += `${JSON.stringify(await auditFile(path))}\n`;
    await writeDurably(inWorkspace('groups', file), lines);
    finished.add(file);
    await publishProgress();
  };
  await work(publishProgress());
  for (const group of groups.filter(({ file }) => !finished.has(file))) {
    await rest(paceMs);
    await work(finishGroup(group));
  }
  await rest(0);
  const report = await makeReport(plan);
  const bytes = Buffer.from(JSON.stringify(report));
  await writeDurably(inWorkspace('report.json'), bytes);
  const result = summarize(report, `sha256:${createHash('sha256').update(bytes).digest('hex')}`);
  await publish({ status: 'done', progress: 1, message: `${report.totals.files} files audited`, result });
}

async function answer({ method, url }, response) {
  const send = (status, body) => response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  const path = url.split('?')[0];
  if (method === 'POST' && path === '/drain' && published) {
    heldUntilMs = performance.now() + drainHoldMs;
    await atWork.catch(() => {});
    return send(200, JSON.stringify({ drained: true, step }));
  }
  if (path === '/state.json' && published) return send(200, published);
  if (path === '/report.json' && existsSync(inWorkspace('report.json'))) {
    return send(200, await readFile(inWorkspace('report.json')));
  }
  send(404, '{"error":"there are GET /state.json, GET /report.json and POST /drain, each from its time on"}');
}

// Nothing to tidy up: what counts is on disk already.
process.on('SIGTERM', () => process.exit(0));

const server = createServer((request, response) => answer(request, response).catch(() => response.destroy()));
server.listen(wholeNumber('PORT', 8000), () => console.log(`image-audit: port ${server.address().port}`));

audit().catch(async (error) => {
  console.error(`image-audit: ${error.message}`);
  await publish({ status: 'failed', error: { message: error.message } }).catch(() => {});
});
