/**
 * A second opinion on an audit: walks the same folders with code of its own, and compares.
 * It shares nothing with the agent, so that a mistake in one is not hidden by the same mistake in the other.
 */

import { createHash, webcrypto } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { opendir, readFile, realpath, stat } from 'node:fs/promises';
import { cpus } from 'node:os';

/** Up to this size a file is read whole and hashed off the main thread; above it, streamed. */
const WHOLE_FILE_MAX_BYTES = 8 * 2 ** 20;
const NOT_PART_OF_AN_IMAGE = ['/proc', '/sys', '/dev'];

/**
 * @typedef {object} WalkedFile
 * @property {number} size bytes
 * @property {string | null} sha256 64 hexadecimal digits; `null`: this process may not read the file
 * @property {boolean} public readable by everybody, as far as its own mode tells
 *
 * @typedef {object} Walk
 * @property {{ files: number, bytes: number, links: number, setuid: number, setgid: number }} totals of all
 *   regular files, whether or not they could be read
 * @property {Map<string, WalkedFile>} files by path
 */

/**
 * Hashes every regular file below the roots; links are counted, not followed.
 * Costs about 1 s per 500 MB on two cores when the files are in the page cache, and some ten MiB beside the result.
 *
 * @param {object} options
 * @param {readonly string[]} options.roots absolute; those that are not there are passed over
 * @param {number} [options.depth] levels of folders below a root that are entered; all by default
 * @param {readonly string[]} [options.exclude] folders that are not entered, such as the agent's workspace
 * @returns {Promise<Walk>}
 */
export async function independentWalk({ roots, depth = Infinity, exclude = [] }) {
  const skipped = new Set([...NOT_PART_OF_AN_IMAGE, ...exclude]);
  const links = new Set();
  const paths = new Set();
  const pending = [];
  for (const root of roots) {
    const folder = await realpath(root).catch(() => null);
    if (folder !== null) pending.push({ folder, left: depth });
  }
  while (pending.length > 0) {
    const { folder, left } = pending.pop();
    if (skipped.has(folder)) continue;
    const directory = await opendir(folder).catch(() => []);
    for await (const entry of directory) {
      const path = `${folder === '/' ? '' : folder}/${entry.name}`;
      if (entry.isSymbolicLink()) links.add(path);
      else if (entry.isFile()) paths.add(path);
      else if (entry.isDirectory() && left > 0) pending.push({ folder: path, left: left - 1 });
    }
  }

  const files = new Map();
  const totals = { files: 0, bytes: 0, links: links.size, setuid: 0, setgid: 0 };
  const queue = paths.values();
  const takeFromQueue = async () => {
    for (const path of queue) {
      // What is gone by now, or has a name that is not UTF-8, cannot be vouched for.
      const stats = await stat(path).catch(() => null);
      if (stats === null) continue;
      const { size, mode } = stats;
      const sha256 = await digestOf(path, size).catch(() => null);
      files.set(path, { size, sha256, public: (mode & 0o004) !== 0 });
      totals.files += 1;
      totals.bytes += size;
      if (mode & 0o4000) totals.setuid += 1;
      if (mode & 0o2000) totals.setgid += 1;
    }
  };
  // One iterator shared by all: each path is taken by exactly one of them.
  await Promise.all(Array.from({ length: Math.min(2, cpus().length) }, takeFromQueue));
  return { totals, files };
}

async function digestOf(path, size) {
  if (size <= WHOLE_FILE_MAX_BYTES) {
    const digest = await webcrypto.subtle.digest('SHA-256', await readFile(path));
    return Buffer.from(digest).toString('hex');
  }
  const hash = createHash('sha256');
  for await (const bytes of createReadStream(path, { highWaterMark: 2 ** 20 })) hash.update(bytes);
  return hash.digest('hex');
}

/**
 * Proves that a report counts each file exactly once, with the right size and digest.
 * A file that the report lists as unreadable passes where its mode, or a folder above it, explains that.
 *
 * @param {object} report the parsed report.json of the agent
 * @param {Walk} walk of the same roots and depth
 * @returns {string[]} differences in words, sorted; empty if there are none
 */
export function compareReport(report, walk) {
  const differences = [];
  const say = (path, what) => differences.push(`${path}: ${what}`);
  const unreadable = new Set(report.unreadable.map(({ path }) => path));
  const times = new Map();
  for (const path of [...report.files.map((file) => file.path), ...unreadable, ...report.vanished]) {
    times.set(path, (times.get(path) ?? 0) + 1);
  }

  for (const [path, count] of times) if (count > 1) say(path, `counted ${count} times`);
  for (const path of report.vanished)
    if (walk.files.has(path)) say(path, 'is said to have vanished, but is there');
  for (const { path, size, sha256 } of report.files) {
    const walked = walk.files.get(path);
    if (walked === undefined) say(path, 'counted, but not there');
    else if (size !== walked.size) say(path, `${size} bytes in the report, ${walked.size} on disk`);
    else if (walked.sha256 !== null && sha256 !== walked.sha256) say(path, 'wrong digest');
  }
  for (const [path, walked] of walk.files) {
    const folders = path.split('/').map((_, index, parts) => parts.slice(0, index).join('/') || '/');
    const hidden = folders.some((folder) => unreadable.has(folder));
    if (!times.has(path) && !hidden) say(path, 'missing from the report');
    if (unreadable.has(path) && walked.public && walked.sha256 !== null)
      say(path, 'is said to be unreadable, but everybody may read it');
  }

  const { totals } = report;
  const sums = {
    files: report.files.length,
    bytes: 0,
    unreadable: unreadable.size,
    vanished: report.vanished.length,
  };
  for (const { size } of report.files) sums.bytes += size;
  for (const [name, sum] of Object.entries(sums)) {
    if (totals[name] !== sum) say(`totals.${name}`, `${totals[name]}, but the report lists ${sum}`);
  }
  if (unreadable.size === 0) {
    for (const [name, sum] of Object.entries(walk.totals)) {
      if (totals[name] !== sum) say(`totals.${name}`, `${totals[name]} in the report, ${sum} on disk`);
    }
  }
  return differences.sort();
}

/**
 * What `filesDigest` in the agent's result must be if it counted each file exactly once: for those who have only
 * the result. An agent that is not root cannot read files that are not for everybody.
 *
 * @param {Walk} walk of the same roots and depth
 * @param {{ publicOnly: boolean }} options leave out what only some may read
 * @returns {string} `sha256:` and 64 hexadecimal digits
 */
export function expectedFilesDigest(walk, { publicOnly }) {
  const lines = [...walk.files]
    .filter(([, file]) => file.public || !publicOnly)
    .map(([path, { size, sha256 }]) => `${path}\0${size}\0${sha256}\n`);
  return `sha256:${createHash('sha256').update(lines.sort().join('')).digest('hex')}`;
}
