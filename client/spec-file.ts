/** Job specs as people keep them: YAML or JSON files, with further files beside them. */

import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { LineCounter, parseAllDocuments } from 'yaml';
import type { JobSpec } from '../contract/job-spec.js';
import {
  checkJobSpec,
  FILES_MAX_BYTES,
  filesNamedBy,
  type JobSpecDocument,
  toJobSpec,
} from '../contract/job-spec.schema.js';
import type { SpecProblem } from '../contract/problems.schema.js';
import { LonghaulError } from './errors.js';

/** A spec is written by hand; anything larger is another file by mistake. */
const SPEC_MAX_BYTES = 1024 * 1024;

/**
 * Reads and checks a spec file; what it names by `from` is read relative to its folder.
 * @throws LonghaulError SPEC_INVALID with every problem.
 */
export async function readSpecFile(path: string): Promise<JobSpec> {
  return checkSpec(await readDocument(path), dirname(path), path);
}

/**
 * Reads a YAML or JSON file that holds one document, unchecked.
 * @throws LonghaulError SPEC_INVALID.
 */
export async function readDocument(path: string): Promise<unknown> {
  const read = await readTextFile(path, SPEC_MAX_BYTES);
  if (!read.ok) throw refused([{ path: '', message: read.why }], path);
  return parseSpec(read.text, path);
}

/**
 * Checks a spec that a program made; `from` is read relative to `folder`.
 * @throws LonghaulError SPEC_INVALID with every problem.
 */
export async function checkSpec(source: unknown, folder: string, file?: string): Promise<JobSpec> {
  const checked = checkJobSpec(source);
  const files = checked.ok ? checked.value.sandbox.files : filesNamedBy(source);
  const { contents, problems } = await readFiles(files, folder);
  if (!checked.ok) throw refused([...checked.problems, ...problems], file);
  if (problems.length > 0) throw refused(problems, file);
  return toJobSpec(checked.value, contents);
}

function parseSpec(text: string, path: string): unknown {
  const lineCounter = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter, prettyErrors: false, uniqueKeys: true });
  if ('empty' in documents) throw refused([{ path: '', message: 'is empty' }], path);
  const problems = documents.flatMap((document) =>
    // A warning is, for example, a tag that nobody understands: then the value is not what was meant.
    [...document.errors, ...document.warnings].map((error) => {
      const { line, col } = lineCounter.linePos(error.pos[0]);
      return { path: '', message: `line ${line}, column ${col}: ${error.message}` };
    }),
  );
  if (documents.length > 1) problems.push({ path: '', message: 'has several YAML documents; a job is one' });
  if (problems.length > 0) throw refused(problems, path);
  try {
    return documents[0]?.toJS();
  } catch (error) {
    // Aliases that go nowhere, or that multiply without end.
    throw refused([{ path: '', message: error instanceof Error ? error.message : String(error) }], path);
  }
}

async function readFiles(
  files: JobSpecDocument['sandbox']['files'],
  folder: string,
): Promise<{ contents: string[]; problems: SpecProblem[] }> {
  const contents: string[] = [];
  const problems: SpecProblem[] = [];
  let totalBytes = 0;
  for (const [index, file] of files.entries()) {
    const place = `sandbox.files[${index}]`;
    const { from } = file;
    const read =
      from === undefined
        ? ({ ok: true, text: file.content ?? '' } as const)
        : await readTextFile(resolve(folder, from), FILES_MAX_BYTES);
    if (!read.ok) {
      problems.push({ path: `${place}.from`, message: `"${from}" ${read.why}` });
      continue;
    }
    const wasWithin = totalBytes <= FILES_MAX_BYTES;
    totalBytes += Buffer.byteLength(read.text);
    contents.push(read.text);
    if (wasWithin && totalBytes > FILES_MAX_BYTES) {
      problems.push({
        path: from === undefined ? `${place}.content` : `${place}.from`,
        message: `with this one the files are larger than ${FILES_MAX_BYTES / 1024} KiB together; put larger ones into the image`,
      });
    }
  }
  return { contents, problems };
}

type TextFile = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly why: string };

async function readTextFile(path: string, maxBytes: number): Promise<TextFile> {
  let bytes: Buffer;
  try {
    const { size, isFile } = await stat(path).then((found) => ({ size: found.size, isFile: found.isFile() }));
    if (!isFile) return { ok: false, why: 'is not a file' };
    if (size > maxBytes) return { ok: false, why: `is larger than ${maxBytes / 1024} KiB` };
    bytes = await readFile(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { ok: false, why: 'does not exist' };
    return { ok: false, why: `cannot be read (${code ?? message})` };
  }
  if (bytes.includes(0)) return { ok: false, why: 'is not a text file: it contains a NUL byte' };
  try {
    // A byte order mark belongs to the content: the agent's file shall be the same, byte for byte.
    return { ok: true, text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { ok: false, why: 'is not a text file: it is not valid UTF-8' };
  }
}

function refused(problems: readonly SpecProblem[], file?: string): LonghaulError {
  const count = problems.length === 1 ? 'one problem' : `${problems.length} problems`;
  return new LonghaulError('SPEC_INVALID', `The job spec was refused: ${count}.`, {
    problems,
    ...(file === undefined ? {} : { file }),
  });
}
