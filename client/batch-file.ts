/** A batch as people write it: a document with a job template, beside it files and a list of items. */

import { access } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type BatchDocument, checkBatch } from '../contract/batch.schema.js';
import type { SpecProblem } from '../contract/problems.schema.js';
import { numbered, readItemsFile } from './batch-items.js';
import type { UploadSource } from './batch-upload.js';
import { LonghaulError } from './errors.js';
import { checkSpec, readDocument } from './spec-file.js';

export interface ReadBatch {
  readonly document: BatchDocument;
  readonly upload: UploadSource;
}

/** @throws LonghaulError SPEC_INVALID with every problem of the document; its items are not looked at yet. */
export async function readBatch(source: unknown): Promise<ReadBatch> {
  const file = typeof source === 'string' ? source : undefined;
  const folder = file === undefined ? process.cwd() : dirname(file);
  const checked = checkBatch(file === undefined ? source : await readDocument(file));
  if (!checked.ok) throw refused(checked.problems, file);
  const document = checked.value;
  const { items, itemId = null } = document;
  const template = await withFiles(document.job, folder, file);
  if (typeof items !== 'string') {
    return { document, upload: { template, itemId, items: numbered(items), file: null } };
  }
  const path = resolve(folder, items);
  await access(path).catch(() => {
    throw refused([{ path: 'items', message: `"${items}" does not exist or cannot be read` }], file);
  });
  const read = readItemsFile(path);
  if (read === null) {
    const message = `"${items}" is of no known format; its name must end with .jsonl, .json or .csv`;
    throw refused([{ path: 'items', message }], file);
  }
  return { document, upload: { template, itemId, items: read, file: items } };
}

/** The template with the contents of the files that it names: only here they can be read. */
async function withFiles(
  job: Record<string, unknown>,
  folder: string,
  file: string | undefined,
): Promise<unknown> {
  const sandbox = job.sandbox as { files?: unknown } | null | undefined;
  const files = sandbox?.files;
  if (!Array.isArray(files) || files.length === 0) return job;
  const problems = files.flatMap((entry, index): SpecProblem[] =>
    typeof entry?.from === 'string' && entry.from.includes('{{')
      ? [
          {
            path: `job.sandbox.files[${index}].from`,
            message: 'cannot differ from item to item; put the text into the item, and "content" here',
          },
        ]
      : [],
  );
  if (problems.length > 0) throw refused(problems, file);
  // By the rules for the files of any job, whatever else is in the template.
  const bare = { sandbox: { image: 'any', entrypoint: ['any'], files } };
  const spec = await checkSpec(bare, folder, file);
  return { ...job, sandbox: { ...sandbox, files: spec.sandbox.files } };
}

export function refused(problems: readonly SpecProblem[], file?: string): LonghaulError {
  const count = problems.length === 1 ? 'one problem' : `${problems.length} problems`;
  return new LonghaulError('SPEC_INVALID', `The batch was refused: ${count}. Nothing was started.`, {
    problems,
    ...(file === undefined ? {} : { file }),
  });
}
